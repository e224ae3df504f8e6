#include "base/http/router.h"

#include <doctest/doctest.h>

#include "base/co/sim_loop.h"

using namespace podwright;

namespace {

Co<HttpResponse> tell(std::string who, HttpRequest request) {
  std::string text = who;
  for (const auto& [name, value] : request.params) text += fmt::format(" {}={}", name, value);
  co_return HttpResponse::text(200, text);
}

HttpHandler teller(std::string who) {
  return [who](HttpRequest request) { return tell(who, std::move(request)); };
}

HttpResponse ask(const Router& router, std::string method, std::string path) {
  SimLoop loop;
  HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  return run_and_get(loop, router.serve(std::move(request)));
}

}  // namespace

TEST_CASE("the pattern with words where others have braces is taken") {
  Router router;
  router.add("GET", "/pods/{name}", teller("one"));
  router.add("GET", "/pods/all", teller("all"));
  router.add("GET", "/pods/{name}/log", teller("log"));
  router.add("GET", "/logs/{rest...}", teller("rest"));

  CHECK(ask(router, "GET", "/pods/all").body == "all");
  CHECK(ask(router, "GET", "/pods/a").body == "one name=a");
  CHECK(ask(router, "GET", "/pods/a/log").body == "log name=a");
  CHECK(ask(router, "GET", "/logs/a/b/").body == "rest rest=a/b/");
  CHECK(ask(router, "GET", "/logs/").body == "rest rest=");
  CHECK(ask(router, "GET", "/logs").body == "rest rest=");
}

TEST_CASE("an unknown path is 404 and a known one with another method 405") {
  Router router;
  router.add("GET", "/a", teller("get"));
  router.add("PUT", "/a", teller("put"));

  CHECK(ask(router, "GET", "/b").status == 404);
  CHECK(ask(router, "GET", "/a/").status == 404);
  CHECK(ask(router, "HEAD", "/a").body == "get");
  const HttpResponse refused = ask(router, "POST", "/a");
  CHECK(refused.status == 405);
  CHECK(refused.headers.get("Allow") == "GET, HEAD, PUT");
}
