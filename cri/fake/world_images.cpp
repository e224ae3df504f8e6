#include "cri/fake/world.h"

namespace podwright::cri {
namespace {

// The same reference gives the same digest in every run.
std::string digest_of(const std::string& ref) {
  SeededRng rng(std::hash<std::string>()(ref));
  return "sha256:" + rng.hex(64);
}

// "registry:5000/app:1" is of repository "registry:5000/app".
std::string repository_of(const std::string& ref) {
  const auto at = ref.find('@');
  if (at != std::string::npos) return ref.substr(0, at);
  const auto colon = ref.rfind(':');
  const auto slash = ref.rfind('/');
  if (colon == std::string::npos || (slash != std::string::npos && colon < slash)) return ref;
  return ref.substr(0, colon);
}

}  // namespace

Image& World::add_image(const std::string& ref) {
  const auto found = images_.find(ref);
  if (found != images_.end()) return found->second;
  const auto scripted = image_scripts.find(ref);
  const ImageScript script = scripted == image_scripts.end() ? ImageScript() : scripted->second;
  Image image;
  image.id = digest_of(ref);
  const auto at = ref.find('@');
  if (at == std::string::npos) {
    image.repo_tags = {ref};
    image.repo_digests = {repository_of(ref) + "@" + digest_of(ref + " manifest")};
  } else {
    image.repo_digests = {ref};
  }
  image.size_bytes = script.size_bytes;
  image.uid = script.uid;
  image.username = script.username;
  return images_[ref] = std::move(image);
}

const Image* World::find_image(const std::string& ref) const {
  const auto found = images_.find(ref);
  if (found != images_.end()) return &found->second;
  for (const auto& [name, image] : images_) {
    if (image.id == ref) return &image;
    for (const auto& digest : image.repo_digests) {
      if (digest == ref) return &image;
    }
  }
  return nullptr;
}

void World::remove_image(const std::string& ref) {
  const Image* image = find_image(ref);
  if (image == nullptr) return;
  const std::string id = image->id;
  std::erase_if(images_, [&id](const auto& entry) { return entry.second.id == id; });
}

std::vector<Image> World::images() const {
  std::vector<Image> all;
  for (const auto& [ref, image] : images_) all.push_back(image);
  return all;
}

}  // namespace podwright::cri
