// Rows of bad pods: flow text that goes into an otherwise good pod, and the error that comes of it.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "api/codec.h"
#include "api/defaults.h"
#include "api/validation.h"

namespace podwright::api {

// The pod of a YAML text, defaulted as it is before every validation.
inline core::Pod pod_of(const std::string& yaml) {
  const auto documents = parse_yaml(yaml);
  REQUIRE(documents.ok());
  REQUIRE(documents->size() == 1);
  core::Pod pod;
  for (const auto& problem : decode(documents->front(), &pod)) FAIL(problem.to_string());
  set_defaults(pod);
  return pod;
}

// The first error stands in the row; no field: the pod is good.
struct Row {
  std::string text, field, substring;
  std::size_t count = 1;
};

inline void check(const std::string& before, const std::vector<Row>& rows, const std::string& after) {
  for (const auto& row : rows) {
    CAPTURE(row.text);
    const auto errors = validate_pod(pod_of(before + row.text + after));
    CAPTURE(join(errors));
    if (row.field.empty()) {
      CHECK(errors.empty());
      continue;
    }
    REQUIRE(errors.size() == row.count);
    CHECK(errors[0].field == row.field);
    CHECK_MESSAGE(errors[0].text.find(row.substring) != std::string::npos, errors[0].text);
  }
}

inline constexpr const char* kMetadata = "{metadata: {name: a, namespace: b}, spec: {";

inline void check_spec(const std::vector<Row>& rows) {
  check(std::string(kMetadata) + "containers: [{name: c, image: i}], ", rows, "}}");
}

inline void check_container(const std::vector<Row>& rows) {
  check(
      std::string(kMetadata) +
          "volumes: [{name: v}, {name: p, persistentVolumeClaim: {claimName: x}}, {name: im, image: {reference: r}}], "
          "containers: [{name: c, image: i, ",
      rows, "}]}}");
}

inline void check_volume(const std::vector<Row>& rows) {
  check(std::string(kMetadata) + "serviceAccountName: s, containers: [{name: c, image: i}], volumes: [{name: v, ", rows,
        "}]}}");
}

}  // namespace podwright::api
