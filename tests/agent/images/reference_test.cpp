#include <doctest/doctest.h>

#include "agent/images/image_cache.h"

namespace podwright::images {
namespace {

TEST_CASE("latest is put where there is neither tag nor digest") {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const auto& [given, expected] : std::vector<std::pair<std::string, std::string>>{
           {"box", "box:latest"},
           {"box:1", "box:1"},
           {"library/box", "library/box:latest"},
           {"registry.test/box", "registry.test/box:latest"},
           {"registry.test:5000/box", "registry.test:5000/box:latest"},
           {"registry.test:5000/a/b/box:1.2-x_y", "registry.test:5000/a/b/box:1.2-x_y"},
           {"[2001:db8::1]:5000/box", "[2001:db8::1]:5000/box:latest"},
           {"LOCALHOST/box", "LOCALHOST/box:latest"},
           {"a.b_c__d-e--f/g", "a.b_c__d-e--f/g:latest"},
           {"box" + digest, "box" + digest},
           {"box:1" + digest, "box:1" + digest},
           {std::string(255, 'a'), std::string(255, 'a') + ":latest"},
           {"box:" + std::string(128, 't'), "box:" + std::string(128, 't')},
       }) {
    CAPTURE(given);
    const auto made = with_default_tag(given);
    REQUIRE(made.ok());
    CHECK(*made == expected);
  }
}

TEST_CASE("what is no reference is refused before the runtime sees it") {
  for (const std::string& given : std::vector<std::string>{"",
                                                           ":1",
                                                           "box:",
                                                           "Box",
                                                           "box/",
                                                           "/box",
                                                           "a//b",
                                                           "box:.1",
                                                           "box:-1",
                                                           "box:a b",
                                                           "box@sha256:xyz",
                                                           "box@sha256",
                                                           "box@:" + std::string(64, 'a'),
                                                           "box@sha256:" + std::string(31, 'a'),
                                                           "box@" + std::string(64, 'a'),
                                                           "a..b",
                                                           "a___b",
                                                           "-a",
                                                           "a-",
                                                           "_a",
                                                           "box:" + std::string(129, 't'),
                                                           std::string(256, 'a'),
                                                           "reg:port/box",
                                                           "reg:/box",
                                                           "box\n",
                                                           "box;rm",
                                                           "../box",
                                                           "$(box)",
                                                           "[x]/box",
                                                           "[::1/box",
                                                           "[::1]x/box",
                                                           "[]/box",
                                                           "a-.b/box",
                                                           ".a/box"}) {
    CAPTURE(given);
    const auto made = with_default_tag(given);
    REQUIRE(absl::IsInvalidArgument(made.status()));
    CHECK(std::string(made.status().message()) ==
          "couldn't parse image name \"" + given + "\": invalid reference format");
  }
}

}  // namespace
}  // namespace podwright::images
