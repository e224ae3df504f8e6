// Which handler a request goes to, by method and path.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/message.h"

namespace podwright {

using HttpHandler = std::function<Co<HttpResponse>(HttpRequest)>;

class Router {
 public:
  // A part of `pattern` in braces stands for one part of the path ("/pods/{name}"), and a last part "{rest...}" for all
  // that follows, also for nothing. Handlers find them with HttpRequest::param. GET serves HEAD too.
  void add(std::string method, std::string_view pattern, HttpHandler handler);

  // The handler's answer; 404 where no pattern fits, 405 with Allow where none has the method. Of several patterns that
  // fit, the one with words where the others have braces is taken, read from the left.
  Co<HttpResponse> serve(HttpRequest request) const;

 private:
  struct Part {
    enum class Kind { kWord, kOne, kRest };
    Kind kind = Kind::kWord;
    std::string text;  // the word, or the name in braces
  };
  struct Entry {
    std::string method;
    std::vector<Part> parts;
    HttpHandler handler;
  };
  static bool fits(const std::vector<Part>& pattern, const std::vector<std::string_view>& path);

  std::vector<Entry> entries_;  // the most exact first
};

}  // namespace podwright
