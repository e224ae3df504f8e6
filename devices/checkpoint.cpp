#include "devices/checkpoint.h"

#include <absl/strings/escaping.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright::devices {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kFnvBasis = 2166136261;
constexpr uint32_t kFnvPrime = 16777619;

absl::Status bad(std::string_view where) {
  return make_status(absl::StatusCode::kInvalidArgument, "{} is missing or of another type", where);
}

std::string list_text(const std::vector<std::string>& ids) {
  return fmt::format("[{}]", fmt::join(ids, " "));
}

std::string entry_text(const CheckpointEntry& entry) {
  std::vector<std::string> nodes, bytes;
  for (const auto& [node, ids] : entry.device_ids) nodes.push_back(fmt::format("{}:{}", node, list_text(ids)));
  for (const char byte : entry.answer) bytes.push_back(std::to_string(static_cast<unsigned char>(byte)));
  return fmt::format(
      "{{PodUID:(string){} ContainerName:(string){} ResourceName:(string){} "
      "DeviceIDs:(checkpoint.DevicesPerNUMA)map[{}] AllocResp:([]uint8)[{}]}}",
      entry.pod_uid, entry.container, entry.resource, fmt::join(nodes, " "), fmt::join(bytes, " "));
}

bool read_ids(const Json& from, std::vector<std::string>& into) {
  if (!from.is_array()) return false;
  for (const auto& id : from) {
    if (!id.is_string()) return false;
    into.push_back(id.get<std::string>());
  }
  return true;
}

bool read_text(const Json& object, const char* key, std::string& into) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  into = found->get<std::string>();
  return true;
}

// `old` is set where the devices stand in the form before 1.20.
absl::StatusOr<CheckpointEntry> read_entry(const Json& from, bool& old) {
  CheckpointEntry entry;
  if (!from.is_object() || !read_text(from, "PodUID", entry.pod_uid)) return bad("PodUID");
  if (!read_text(from, "ContainerName", entry.container)) return bad("ContainerName");
  if (!read_text(from, "ResourceName", entry.resource)) return bad("ResourceName");
  if (std::string text; read_text(from, "AllocResp", text) && !absl::Base64Unescape(text, &entry.answer)) {
    return bad("AllocResp");
  }
  const auto ids = from.find("DeviceIDs");
  if (ids == from.end()) return bad("DeviceIDs");
  if (ids->is_array()) {
    old = true;
    if (!read_ids(*ids, entry.device_ids[-1])) return bad("DeviceIDs");
    return entry;
  }
  if (!ids->is_object()) return bad("DeviceIDs");
  for (const auto& [key, list] : ids->items()) {
    int64_t node = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), node);
    if (error != std::errc() || end != key.data() + key.size() || !read_ids(list, entry.device_ids[node])) {
      return bad("DeviceIDs");
    }
  }
  return entry;
}

}  // namespace

uint32_t checksum_of(const Checkpoint& checkpoint) {
  std::string entries = "<nil>", registered = "<nil>";
  if (checkpoint.entries) {
    std::vector<std::string> texts;
    for (const auto& entry : *checkpoint.entries) texts.push_back(entry_text(entry));
    entries = list_text(texts);
  }
  if (checkpoint.registered) {
    std::vector<std::string> texts;
    for (const auto& [resource, ids] : *checkpoint.registered) texts.push_back(resource + ":" + list_text(ids));
    registered = fmt::format("map[{}]", fmt::join(texts, " "));
  }
  const std::string text = fmt::format(
      "(checkpoint.checkpointData){{PodDeviceEntries:([]checkpoint.PodDevicesEntry){} "
      "RegisteredDevices:(map[string][]string){}}}",
      entries, registered);
  uint32_t hash = kFnvBasis;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return hash;
}

absl::StatusOr<Checkpoint> read_checkpoint(std::string_view text) {
  if (text.size() > limits::kDocumentBytes) {
    return make_status(absl::StatusCode::kInvalidArgument, "the checkpoint is longer than {} bytes",
                       limits::kDocumentBytes);
  }
  const Json file = Json::parse(text, nullptr, false);
  if (!file.is_object() || !file.contains("Data") || !file["Data"].is_object()) return bad("Data");
  const Json& data = file["Data"];
  Checkpoint checkpoint;
  bool old = false;
  if (const auto entries = data.find("PodDeviceEntries"); entries != data.end() && !entries->is_null()) {
    if (!entries->is_array()) return bad("Data.PodDeviceEntries");
    checkpoint.entries.emplace();
    for (std::size_t i = 0; i < entries->size(); ++i) {
      auto entry = read_entry((*entries)[i], old);
      if (!entry.ok()) return annotate(entry.status(), "Data.PodDeviceEntries[{}]", i);
      checkpoint.entries->push_back(*std::move(entry));
    }
  }
  if (const auto registered = data.find("RegisteredDevices"); registered != data.end() && !registered->is_null()) {
    if (!registered->is_object()) return bad("Data.RegisteredDevices");
    checkpoint.registered.emplace();
    for (const auto& [resource, ids] : registered->items()) {
      if (!read_ids(ids, (*checkpoint.registered)[resource])) return bad("Data.RegisteredDevices");
    }
  }
  const auto sum = file.find("Checksum");
  if (sum == file.end() || !sum->is_number_unsigned()) return bad("Checksum");
  if (!old && sum->get<uint64_t>() != checksum_of(checkpoint)) {
    return make_status(absl::StatusCode::kDataLoss, "the checkpoint's checksum is {}, that of its data {}",
                       sum->get<uint64_t>(), checksum_of(checkpoint));
  }
  return checkpoint;
}

std::string write_checkpoint(const Checkpoint& checkpoint) {
  Json entries, registered;
  if (checkpoint.entries) {
    entries = Json::array();
    for (const auto& entry : *checkpoint.entries) {
      Json ids = Json::object();
      for (const auto& [node, list] : entry.device_ids) ids[std::to_string(node)] = list;
      entries.push_back({{"PodUID", entry.pod_uid},
                         {"ContainerName", entry.container},
                         {"ResourceName", entry.resource},
                         {"DeviceIDs", std::move(ids)},
                         {"AllocResp", absl::Base64Escape(entry.answer)}});
    }
  }
  if (checkpoint.registered) {
    registered = Json::object();
    for (const auto& [resource, ids] : *checkpoint.registered) registered[resource] = ids;
  }
  Json file;
  file["Data"] = {{"PodDeviceEntries", std::move(entries)}, {"RegisteredDevices", std::move(registered)}};
  file["Checksum"] = checksum_of(checkpoint);
  return file.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace podwright::devices
