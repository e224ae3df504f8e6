#include "agent/images/image_collector.h"

#include "agent/images/image_cache.h"
#include "api/document.h"
#include "base/log/log.h"
#include "base/status/annotate.h"

namespace podwright::images {
namespace {

const Flow kFlow{"images", LogSubject{{"flow", "images"}}};

std::string shown(const cri::Image& image) {
  if (!image.repo_tags.empty()) return image.repo_tags.front();
  return image.repo_digests.empty() ? image.id : image.repo_digests.front();
}

}  // namespace

std::string sandbox_image(const cri::RuntimeStatus& status) {
  const auto config = status.info.find("config");
  if (config == status.info.end()) return {};
  const auto document = api::parse_json(config->second);
  if (!document.ok()) return {};
  const api::Node* image = document->find("sandboxImage");
  return image == nullptr ? std::string() : image->text;
}

ImageCollector::ImageCollector(Loop& loop, cri::Runtime& runtime, cri::Images& images, events::EventRecorder& events,
                               Steps& steps, CollectionOptions options, CollectorSources sources)
    : loop_(loop),
      runtime_(runtime),
      images_(images),
      events_(events),
      steps_(steps),
      options_(options),
      sources_(std::move(sources)),
      started_(loop.now()),
      one_(loop, 1) {}

Co<void> ImageCollector::run() {
  while (true) {
    const absl::Status status = co_await collect();
    if (co_await is_stopping()) co_return;
    tell(status);
    if (co_await sleep_until(loop_, after(loop_.now(), options_.period)) == Wait::kCancelled) co_return;
  }
}

// The first failure is only logged: the runtime may be busy, or not know its file system yet.
void ImageCollector::tell(const absl::Status& status) {
  failures_ = status.ok() ? 0 : failures_ + 1;
  if (status.ok()) return;
  log_warning(kFlow.subject, "could not collect images", {{"error", text_of(status)}});
  if (failures_ > 1) events_.record_node(events::kWarning, "ImageGCFailed", text_of(status));
}

Co<absl::StatusOr<ImageNames>> ImageCollector::used_images(Instant deadline) {
  cri::Filter all;
  const auto containers = co_await runtime_.list_containers(std::move(all), deadline);
  if (!containers.ok()) co_return annotate(containers.status(), "list containers");
  ImageNames used;
  for (const cri::ContainerStatus& container : *containers) {
    for (const std::string* name : {&container.image, &container.image_ref, &container.image_id}) {
      if (!name->empty()) used.insert(*name);
    }
  }
  for (const std::string& image : sources_.wanted()) {
    const auto full = with_default_tag(image);
    used.insert(full.ok() ? *full : image);
  }
  const auto status = co_await runtime_.status(true, deadline);
  if (!status.ok()) co_return annotate(status.status(), "ask for the sandbox image");
  if (const std::string sandbox = sandbox_image(*status); !sandbox.empty()) used.insert(sandbox);
  co_return used;
}

Co<absl::StatusOr<std::vector<cri::Image>>> ImageCollector::look() {
  const Instant deadline = after(loop_.now(), options_.call_deadline);
  Step step(steps_, kFlow, StepKind::kList, "images and who uses them", deadline);
  const auto images = co_await images_.list(deadline);
  absl::Status status = images.status();
  absl::StatusOr<ImageNames> used = absl::UnknownError("not asked");
  if (status.ok()) {
    used = co_await used_images(deadline);
    status = used.status();
  }
  step.end(status);
  if (!status.ok()) co_return annotate(status, "look for unused images");
  const Instant now = loop_.now();
  note_images(*images, *used, !looked_, now, ages_);
  looked_ = true;
  co_return removable(*images, *used, ages_, options_.minimum_age, now);
}

Co<absl::Status> ImageCollector::remove(cri::Image image, std::string reason) {
  const Instant deadline = after(loop_.now(), options_.call_deadline);
  std::string id = image.id;
  Step step(steps_, kFlow, StepKind::kOther, "remove image " + shown(image), deadline);
  const absl::Status status = co_await images_.remove(std::move(id), deadline);
  step.end(status);
  if (!status.ok()) co_return annotate(status, "remove image {}", shown(image));
  ++removed_[reason];
  ages_.erase(image.id);
  log_info(kFlow.subject, "removed an unused image",
           {{"image", shown(image)}, {"bytes", image.size_bytes}, {"reason", reason}});
  co_return absl::OkStatus();
}

Co<absl::Status> ImageCollector::collect() {
  const auto slot = co_await one_.acquire(Instant::max());
  if (!slot.ok()) co_return slot.status();
  auto candidates = co_await look();
  if (!candidates.ok()) co_return candidates.status();
  absl::Status first;
  std::set<std::string> gone;
  for (const cri::Image& image : too_old(*candidates, ages_, options_.maximum_age, started_, loop_.now())) {
    cri::Image old = image;
    const absl::Status removed = co_await remove(std::move(old), "age");
    if (co_await is_stopping()) co_return absl::OkStatus();
    if (removed.ok()) gone.insert(image.id);
    first.Update(removed);
  }
  const auto fs = co_await sources_.image_fs();
  if (!fs.ok()) co_return annotate(fs.status(), "look at the file system of images");
  if (fs->capacity_bytes == 0) {
    events_.record_node(events::kWarning, "InvalidDiskCapacity", "invalid capacity 0 on image filesystem");
    co_return absl::FailedPreconditionError("the file system of images has no capacity");
  }
  const uint64_t wanted = bytes_to_free(fs->capacity_bytes, fs->available_bytes, options_);
  if (wanted == 0) co_return first;
  log_info(kFlow.subject, "the disk of images fills up, removing unused ones",
           {{"capacity", fs->capacity_bytes}, {"available", fs->available_bytes}, {"to_free", wanted}});
  uint64_t freed = 0;
  for (const cri::Image& image : *candidates) {
    if (freed >= wanted) break;
    if (gone.contains(image.id)) continue;
    cri::Image unused = image;
    const absl::Status removed = co_await remove(std::move(unused), "space");
    if (co_await is_stopping()) co_return absl::OkStatus();
    if (removed.ok()) freed += image.size_bytes;
    first.Update(removed);
  }
  if (freed < wanted) {
    const std::string text = fmt::format(
        "Failed to garbage collect required amount of images. Attempted to free {} "
        "bytes, but only found {} bytes eligible to free.",
        wanted, freed);
    events_.record_node(events::kWarning, "FreeDiskSpaceFailed", text);
    co_return absl::ResourceExhaustedError(text);
  }
  co_return first;
}

Co<absl::StatusOr<std::size_t>> ImageCollector::remove_unused(std::function<Co<bool>()> enough) {
  const auto slot = co_await one_.acquire(Instant::max());
  if (!slot.ok()) co_return slot.status();
  auto candidates = co_await look();
  if (!candidates.ok()) co_return candidates.status();
  std::size_t removed = 0;
  for (const cri::Image& image : *candidates) {
    cri::Image unused = image;
    const absl::Status status = co_await remove(std::move(unused), "space");
    if (co_await is_stopping()) break;
    if (!status.ok()) {
      log_warning(kFlow.subject, "could not remove an unused image", {{"error", text_of(status)}});
      continue;
    }
    ++removed;
    const bool done = co_await enough();
    if (done) break;
  }
  co_return removed;
}

}  // namespace podwright::images
