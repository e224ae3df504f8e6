#include "base/files/tree.h"

namespace podwright {

std::string join_path(std::string_view left, std::string_view right) {
  while (!left.empty() && left.back() == '/') left.remove_suffix(1);
  while (!right.empty() && right.front() == '/') right.remove_prefix(1);
  std::string joined(left);
  if (right.empty()) return joined.empty() ? "/" : joined;
  joined += '/';
  joined += right;
  return joined;
}

std::string parent_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return "";
  return std::string(slash == 0 ? "/" : path.substr(0, slash));
}

std::string file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace podwright
