#include <doctest/doctest.h>

#include "containerd/events.pb.h"
#include "containerd/types.pb.h"
#include "cri/grpc/grpc_events.h"
#include "cri/v1.pb.h"

using namespace podwright;
using namespace podwright::cri;

namespace {

template <class T>
containerd::types::Envelope envelope(const std::string& type, const T& event, const std::string& ns = "k8s.io") {
  containerd::types::Envelope envelope;
  envelope.set_namespace_(ns);
  envelope.mutable_event()->set_type_url(type);
  envelope.mutable_event()->set_value(event.SerializeAsString());
  return envelope;
}

containerd::events::TaskExit exit_of(const std::string& container, const std::string& process) {
  containerd::events::TaskExit exit;
  exit.set_container_id(container);
  exit.set_id(process);
  exit.set_pid(4711);
  exit.set_exit_status(3);
  exit.mutable_exited_at()->set_seconds(10);
  exit.mutable_exited_at()->set_nanos(5);
  return exit;
}

}  // namespace

TEST_CASE("containerd's TaskExit of a container's own process is its end") {
  const auto event = event_of(envelope("containerd.events.TaskExit", exit_of("c1", "c1")));

  REQUIRE(event.has_value());
  CHECK(event->kind == Event::Kind::kStopped);
  CHECK(event->id == "c1");
  CHECK(event->exit_code == 3);
  CHECK(event->at == WallTime(Duration(10'000'000'005)));
  CHECK(event->pid == 4711u);
}

TEST_CASE("the end of an exec, and what other namespaces do, is of no interest") {
  CHECK_FALSE(event_of(envelope("containerd.events.TaskExit", exit_of("c1", "exec1"))).has_value());
  CHECK_FALSE(event_of(envelope("containerd.events.TaskExit", exit_of("c1", "c1"), "moby")).has_value());
  CHECK_FALSE(event_of(envelope("containerd.events.SomethingNew", exit_of("c1", "c1"))).has_value());
}

TEST_CASE("a CRI event of an end brings the exit code of that container only") {
  runtime::v1::ContainerEventResponse message;
  message.set_container_id("c1");
  message.set_container_event_type(runtime::v1::CONTAINER_STOPPED_EVENT);
  auto* other = message.add_containers_statuses();
  other->set_id("c0");
  other->set_state(runtime::v1::CONTAINER_EXITED);
  other->set_exit_code(1);
  auto* own = message.add_containers_statuses();
  own->set_id("c1");
  own->set_state(runtime::v1::CONTAINER_EXITED);
  own->set_exit_code(9);
  own->set_finished_at(7);

  const auto event = event_of(message);

  REQUIRE(event.has_value());
  CHECK(event->kind == Event::Kind::kStopped);
  CHECK(event->exit_code == 9);
  CHECK(event->at == WallTime(Duration(7)));
}
