#include "tests/fakes/api/object_rules.h"

namespace podwright::kube {
namespace {

const google::protobuf::FieldDescriptor* field(const Message& object, const char* name) {
  return object.GetDescriptor()->FindFieldByName(name);
}

}  // namespace

bool has_status(const Message& object) {
  return field(object, "status") != nullptr;
}

void copy_status(const Message& from, Message* into) {
  const auto* status = field(from, "status");
  if (status == nullptr) return;
  const auto* reflection = from.GetReflection();
  if (!reflection->HasField(from, status)) {
    reflection->ClearField(into, status);
    return;
  }
  reflection->MutableMessage(into, status)->CopyFrom(reflection->GetMessage(from, status));
}

bool specs_differ(const Message& a, const Message& b) {
  const auto* spec = field(a, "spec");
  if (spec == nullptr) return false;
  return canonical_bytes(a.GetReflection()->GetMessage(a, spec)) !=
         canonical_bytes(b.GetReflection()->GetMessage(b, spec));
}

std::chrono::seconds grace_of(const Message& object, const DeleteOptions& options) {
  if (object.GetDescriptor() != core::Pod::descriptor()) return std::chrono::seconds(0);
  const auto& pod = static_cast<const core::Pod&>(object);
  const std::string& phase = pod.status().phase();
  if (pod.spec().nodename().empty() || phase == "Succeeded" || phase == "Failed") return std::chrono::seconds(0);
  if (options.grace) return *options.grace;
  return std::chrono::seconds(
      pod.spec().has_terminationgraceperiodseconds() ? pod.spec().terminationgraceperiodseconds() : 30);
}

void reset_status_of_new(Message* object) {
  if (object->GetDescriptor() != core::Pod::descriptor()) return;
  auto* pod = static_cast<core::Pod*>(object);
  pod->clear_status();
  pod->mutable_status()->set_phase("Pending");
}

}  // namespace podwright::kube
