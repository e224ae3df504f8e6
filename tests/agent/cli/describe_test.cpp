#include "agent/cli/describe.h"

#include <doctest/doctest.h>
#include <google/protobuf/text_format.h>

using namespace podwright;
using namespace podwright::cli;

TEST_CASE("a described pod shows its spec, its state, what it waits for and its events") {
  PodDescription about;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(
      R"(metadata { name: 'web-n1' namespace: 'default' uid: 'u1' labels { key: 'app' value: 'web' } }
         spec {
           nodeName: 'n1'
           containers {
             name: 'app' image: 'nginx' command: 'run' args: '-x'
             ports { containerPort: 80 protocol: 'TCP' }
             resources { limits { key: 'memory' value { string: '64Mi' } } requests { key: 'cpu' value { string: '10m' } } }
             livenessProbe { handler { httpGet { path: '/ok' port { intVal: 80 } scheme: 'HTTP' } }
                             timeoutSeconds: 1 periodSeconds: 10 successThreshold: 1 failureThreshold: 3 }
             env { name: 'A' value: 'b' }
             env { name: 'IP' valueFrom { fieldRef { apiVersion: 'v1' fieldPath: 'status.podIP' } } }
             volumeMounts { name: 'tmp' mountPath: '/tmp' readOnly: true }
           }
           volumes { name: 'tmp' volumeSource { emptyDir { medium: 'Memory' sizeLimit { string: '1Mi' } } } }
           tolerations { operator: 'Exists' effect: 'NoExecute' }
         }
         status {
           phase: 'Running' hostIP: '10.0.0.1' podIPs { ip: '10.1.0.2' } startTime { seconds: 9000 } qosClass: 'Burstable'
           conditions { type: 'Ready' status: 'False' reason: 'ContainersNotReady' message: 'containers: [app]' }
           containerStatuses {
             name: 'app' restartCount: 2 containerID: 'containerd://abc'
             state { waiting { reason: 'CrashLoopBackOff' message: 'back-off 10s' } }
             lastState { terminated { exitCode: 1 reason: 'Error' finishedAt { seconds: 9990 } } }
           }
         })",
      &about.pod));
  about.origin = "file /etc/kubernetes/manifests/web.yaml";
  about.state = "Syncing";
  about.waiting_for = "the back-off of container app, 8s more";
  about.waits.push_back({"pull", "nginx", 3s, 57s});
  about.problems.push_back("spec.containers[0].image: required; the last good version runs on");
  REQUIRE(google::protobuf::TextFormat::ParseFromString(
      "type: 'Warning' reason: 'BackOff' count: 3 message: 'Back-off restarting' source { component: 'kubelet' } "
      "firstTimestamp { seconds: 9900 } lastTimestamp { seconds: 9995 }",
      &about.events.emplace_back()));

  const std::string page = describe_pod(about, WallTime(std::chrono::seconds(10'000)));

  for (const char* line :
       {"Name:              web-n1\n",
        "Source:            file /etc/kubernetes/manifests/web.yaml\n",
        "Node:              n1/10.0.0.1\n",
        "Labels:            app=web\n",
        "Annotations:       <none>\n",
        "Waiting For:       the back-off of container app, 8s more\n",
        "Source Problem:    spec.containers[0].image: required; the last good version runs on\n",
        "  pull: nginx (for 3s, at most 57s more)\n",
        "  app:\n",
        "    Container ID:  containerd://abc\n",
        "    Port:          80/TCP\n",
        "    State:         Waiting\n",
        "      Reason:        CrashLoopBackOff\n",
        "    Last State:    Terminated\n",
        "      Exit Code:     1\n",
        "    Restart Count: 2\n",
        "      memory:        64Mi\n",
        "    Liveness:      http-get http://:80/ok delay=0s timeout=1s period=10s #success=1 #failure=3\n",
        "      IP:            (v1:status.podIP)\n",
        "      /tmp from tmp (ro)\n",
        "  Ready                        False  ContainersNotReady: containers: [app]\n",
        "    Type:          EmptyDir\n",
        "      sizeLimit:     1Mi\n",
        "QoS Class:         Burstable\n",
        "Tolerations:       :NoExecute op=Exists\n",
        "  Warning   BackOff   5s (x3 over 100s)   kubelet   Back-off restarting\n"}) {
    CHECK_MESSAGE(page.find(line) != std::string::npos, line, page);
  }
}
