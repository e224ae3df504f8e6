#include "tests/api/validation_rows.h"

using namespace podwright;
using namespace podwright::api;

TEST_CASE("containers") {
  check(kMetadata,
        {
            {"containers: []", "spec.containers", "Required value"},
            {"containers: [{image: i}]", "spec.containers[0].name", "Required value"},
            {"containers: [{name: a.b, image: i}]", "spec.containers[0].name", "RFC 1123 label"},
            {"containers: [{name: a, image: i}, {name: a, image: i}]", "spec.containers[1].name",
             R"(Duplicate value: "a")"},
            {"initContainers: [{name: a, image: i}], containers: [{name: a, image: i}]", "spec.initContainers[0].name",
             "Duplicate value"},
            {"ephemeralContainers: [{name: a, image: i}], containers: [{name: a, image: i}]",
             "spec.ephemeralContainers[0].name", "Duplicate value"},
            {"containers: [{name: a}]", "spec.containers[0].image", "Required value"},
            {"containers: [{name: a, image: ' i'}]", "spec.containers[0].image", "leading or trailing whitespace"},
            {"containers: [{name: a, image: i, ports: [{containerPort: 1, hostPort: 2}]}, {name: b, image: i, ports: "
             "[{containerPort: 3, hostPort: 2}]}]",
             "spec.containers[1].ports[0].hostPort", R"(Duplicate value: "TCP//2")"},
        },
        "}}");
  check_container({
      {"imagePullPolicy: Sometimes", "spec.containers[0].imagePullPolicy",
       R"(Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never")"},
      {"terminationMessagePolicy: X", "spec.containers[0].terminationMessagePolicy", "Unsupported value"},
      {"ports: [{containerPort: 99999}]", "spec.containers[0].ports[0].containerPort",
       "Invalid value: 99999: must be between 1 and 65535, inclusive"},
      {"ports: [{hostPort: 1}]", "spec.containers[0].ports[0].containerPort", "Required value"},
      {"ports: [{containerPort: 1, hostPort: -1}]", "spec.containers[0].ports[0].hostPort", "Invalid value: -1"},
      {"ports: [{containerPort: 1, protocol: tcp}]", "spec.containers[0].ports[0].protocol",
       R"(supported values: "SCTP", "TCP", "UDP")"},
      {"ports: [{containerPort: 1, hostIP: x}]", "spec.containers[0].ports[0].hostIP", "valid IP"},
      {"ports: [{containerPort: 1, name: sixteen-letters0}]", "spec.containers[0].ports[0].name", ""},
      {"ports: [{containerPort: 1, name: '80'}]", "spec.containers[0].ports[0].name", "at least one letter"},
      {"ports: [{containerPort: 1, name: a--b}]", "spec.containers[0].ports[0].name", "consecutive hyphens"},
      {"ports: [{containerPort: 1, name: a}, {containerPort: 2, name: a}]", "spec.containers[0].ports[1].name",
       "Duplicate value"},
      {"restartPolicy: Sometimes", "spec.containers[0].restartPolicy", "Unsupported value"},
      {"restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [1]}}]",
       "spec.containers[0].restartPolicy", "Required value: must specify restartPolicy"},
      {"restartPolicy: Never, restartPolicyRules: [{action: Stop, exitCodes: {operator: In, values: [1]}}]",
       "spec.containers[0].restartPolicyRules[0].action", R"("Restart", "RestartAllContainers")"},
      {"restartPolicy: Never, restartPolicyRules: [{action: Restart}]",
       "spec.containers[0].restartPolicyRules[0].exitCodes", "Required value: must be specified"},
      {"restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: Equals, values: [1]}}]",
       "spec.containers[0].restartPolicyRules[0].exitCodes.operator", R"(supported values: "In", "NotIn")"},
  });
}

TEST_CASE("init and ephemeral containers") {
  check_spec({
      {"initContainers: [{name: i, image: i, restartPolicy: X}]", "spec.initContainers[0].restartPolicy",
       "Unsupported value"},
      {"initContainers: [{name: i, image: i, readinessProbe: {exec: {command: [a]}}}]",
       "spec.initContainers[0].readinessProbe", "Forbidden: may not be set for init containers without"},
      {"initContainers: [{name: i, image: i, lifecycle: {}}]", "spec.initContainers[0].lifecycle", "Forbidden"},
      {"initContainers: [{name: i, image: i, restartPolicy: Always, livenessProbe: {}}]",
       "spec.initContainers[0].livenessProbe", "Required value: must specify a handler type"},
      {"ephemeralContainers: [{name: e, image: i, ports: [{containerPort: 1}]}]", "spec.ephemeralContainers[0].ports",
       "Forbidden: cannot be set for an Ephemeral Container"},
      {"ephemeralContainers: [{name: e, image: i, resources: {limits: {cpu: 1}}}]",
       "spec.ephemeralContainers[0].resources", "Forbidden"},
      {"ephemeralContainers: [{name: e, image: i, resources: {}}]", "", ""},
      {"ephemeralContainers: [{name: e, image: i, startupProbe: {exec: {command: [a]}}}]",
       "spec.ephemeralContainers[0].startupProbe", "Forbidden"},
      {"ephemeralContainers: [{name: e, image: i, restartPolicy: Always}]", "spec.ephemeralContainers[0].restartPolicy",
       "Forbidden"},
      {"volumes: [{name: v}], ephemeralContainers: [{name: e, image: i, volumeMounts: [{name: v, mountPath: /a, "
       "subPath: b}]}]",
       "spec.ephemeralContainers[0].volumeMounts[0].subPath", "Forbidden"},
      {"ephemeralContainers: [{name: e, image: i, targetContainerName: x}]",
       "spec.ephemeralContainers[0].targetContainerName", R"(Not found: "x")"},
  });
}

TEST_CASE("environment") {
  const std::string from = "spec.containers[0].env[0].valueFrom";
  check_container({
      {"env: [{value: a}]", "spec.containers[0].env[0].name", "Required value"},
      {"env: [{name: a=b}]", "spec.containers[0].env[0].name", "printable ASCII"},
      {"env: [{name: A, valueFrom: {}}]", from, "must specify one of"},
      {"env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", from,
       "may not be specified when `value` is not empty"},
      {"env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, secretKeyRef: {name: a, key: b}}}]", from,
       "may not have more than one field"},
      {"env: [{name: A, valueFrom: {fieldRef: {}}}]", from + ".fieldRef.fieldPath", "Required value"},
      {"env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]", from + ".fieldRef.fieldPath",
       R"(Unsupported value: "metadata.labels": supported values: "metadata.name")"},
      {"env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"spec['a']\"}}}]", from + ".fieldRef", "subscript"},
      {"env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a b']\"}}}]", from + ".fieldRef",
       "name part"},
      {"env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name, apiVersion: v2}}}]",
       from + ".fieldRef.apiVersion", "Unsupported value"},
      {"env: [{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}]", from + ".resourceFieldRef.resource",
       "Unsupported value"},
      {"env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 2}}}]",
       from + ".resourceFieldRef.divisor", "only divisor's values 1m, 1 are supported with the cpu resource"},
      {"env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1m}}}]",
       from + ".resourceFieldRef.divisor", "memory resource"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {name: a}}}]", from + ".configMapKeyRef.key", "Required value"},
      {"env: [{name: A, valueFrom: {configMapKeyRef: {key: a}}}]", from + ".configMapKeyRef.name", "Required value"},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: ..b}}}]", from + ".secretKeyRef.key",
       "must not start with '..'"},
      {"env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: a b}}}]", from + ".secretKeyRef.key",
       "a valid config key"},
      {"env: [{name: A, valueFrom: {fileKeyRef: {volumeName: x, path: a, key: A}}}]", from + ".fileKeyRef.volumeName",
       "Not found"},
      {"env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: ../a, key: A}}}]", from + ".fileKeyRef.path",
       "must not contain '..'"},
      {"envFrom: [{prefix: A}]", "spec.containers[0].envFrom[0]", "must specify one of"},
      {"envFrom: [{configMapRef: {name: a}, secretRef: {name: a}}]", "spec.containers[0].envFrom[0]",
       "may not have more than one"},
      {"envFrom: [{configMapRef: {}}]", "spec.containers[0].envFrom[0].configMapRef.name", "Required value"},
      {"envFrom: [{prefix: a=, secretRef: {name: a}}]", "spec.containers[0].envFrom[0].prefix", "printable ASCII"},
  });
}

TEST_CASE("mounts and devices") {
  const std::string mount = "spec.containers[0].volumeMounts[0]";
  check_container({
      {"volumeMounts: [{mountPath: /a}]", mount + ".name", "Required value"},
      {"volumeMounts: [{name: x, mountPath: /a}]", mount + ".name", R"(Not found: "x")"},
      {"volumeMounts: [{name: v}]", mount + ".mountPath", "Required value"},
      {"volumeMounts: [{name: v, mountPath: '/a:b'}]", mount + ".mountPath", "must not contain ':'"},
      {"volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]",
       "spec.containers[0].volumeMounts[1].mountPath", R"(Invalid value: "/a": must be unique)"},
      {"volumeMounts: [{name: v, mountPath: /a, subPath: /b}]", mount + ".subPath", "must be a relative path"},
      {"volumeMounts: [{name: v, mountPath: /a, subPath: b/../c}]", mount + ".subPath", "must not contain '..'"},
      {"volumeMounts: [{name: v, mountPath: /a, subPath: b..c}]", "", ""},
      {"volumeMounts: [{name: v, mountPath: /a, subPathExpr: ../c}]", mount + ".subPathExpr", "must not contain '..'"},
      {"volumeMounts: [{name: v, mountPath: /a, subPath: b, subPathExpr: b}]", mount + ".subPathExpr",
       "mutually exclusive"},
      {"volumeMounts: [{name: im, mountPath: /a, subPath: b}]", mount + ".subPath", "image volume"},
      {"volumeMounts: [{name: v, mountPath: /a, mountPropagation: X}]", mount + ".mountPropagation",
       R"("Bidirectional", "HostToContainer", "None")"},
      {"volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]", mount + ".mountPropagation",
       "Forbidden: Bidirectional mount propagation is available only to privileged containers"},
      {"securityContext: {privileged: true}, volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]",
       "", ""},
      {"volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]", mount + ".recursiveReadOnly",
       "when readOnly is true"},
      {"volumeMounts: [{name: v, mountPath: /a, readOnly: true, recursiveReadOnly: X}]", mount + ".recursiveReadOnly",
       "Unsupported value"},
      {"volumeDevices: [{name: v, devicePath: /dev/a}]", "spec.containers[0].volumeDevices[0].name", "for block mode"},
      {"volumeDevices: [{name: p}]", "spec.containers[0].volumeDevices[0].devicePath", "Required value"},
      {"volumeDevices: [{name: p, devicePath: /../a}]", "spec.containers[0].volumeDevices[0].devicePath", "backsteps"},
      {"volumeMounts: [{name: p, mountPath: /a}], volumeDevices: [{name: p, devicePath: /b}]",
       "spec.containers[0].volumeDevices[0].name", "must not already exist in volumeMounts"},
  });
}

TEST_CASE("probes and hooks") {
  const std::string c = "spec.containers[0]";
  check_container({
      {"livenessProbe: {}", c + ".livenessProbe", "Required value: must specify a handler type"},
      {"livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}", c + ".livenessProbe.tcpSocket",
       "Forbidden: may not specify more than 1 handler type"},
      {"livenessProbe: {exec: {}}", c + ".livenessProbe.exec.command", "Required value"},
      {"livenessProbe: {exec: {command: [a]}, successThreshold: 2}", c + ".livenessProbe.successThreshold",
       "Invalid value: 2: must be 1"},
      {"startupProbe: {exec: {command: [a]}, successThreshold: 2}", c + ".startupProbe.successThreshold", "must be 1"},
      {"livenessProbe: {exec: {command: [a]}, periodSeconds: -1}", c + ".livenessProbe.periodSeconds",
       "must be greater than or equal to 0"},
      {"readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 1}",
       c + ".readinessProbe.terminationGracePeriodSeconds", "must not be set for readinessProbes"},
      {"livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}",
       c + ".livenessProbe.terminationGracePeriodSeconds", "must be greater than 0"},
      {"readinessProbe: {httpGet: {port: 0}}", c + ".readinessProbe.httpGet.port", "between 1 and 65535"},
      {"readinessProbe: {httpGet: {port: Http}}", c + ".readinessProbe.httpGet.port", "alpha-numeric"},
      {"readinessProbe: {httpGet: {port: 1, scheme: ftp}}", c + ".readinessProbe.httpGet.scheme", R"("HTTP", "HTTPS")"},
      {"readinessProbe: {httpGet: {port: 1, httpHeaders: [{name: a_b, value: c}]}}",
       c + ".readinessProbe.httpGet.httpHeaders", "a valid HTTP header"},
      {"readinessProbe: {grpc: {}}", c + ".readinessProbe.grpc.port", "between 1 and 65535"},
      {"lifecycle: {preStop: {}}", c + ".lifecycle.preStop", "must specify a handler type"},
      {"lifecycle: {postStart: {exec: {command: [a]}, sleep: {seconds: 1}}}", c + ".lifecycle.postStart.sleep",
       "more than 1 handler"},
      {"lifecycle: {preStop: {sleep: {seconds: 31}}}", c + ".lifecycle.preStop.sleep",
       "must be non-negative and less than terminationGracePeriodSeconds (30)"},
  });
}

TEST_CASE("resources") {
  const std::string r = "spec.containers[0].resources";
  check_container({
      {"resources: {limits: {cpu: 1}, requests: {cpu: 2}}", r + ".requests",
       R"(Invalid value: "2": must be less than or equal to cpu limit of 1)"},
      {"resources: {limits: {memory: 1Gi}, requests: {memory: 1025Mi}}", r + ".requests", "memory limit of 1Gi"},
      {"resources: {requests: {cpu: -1}}", r + ".requests[cpu]", "must be greater than or equal to 0"},
      {"resources: {requests: {disk: 1}}", r + ".requests[disk]",
       "must be a standard resource type or fully qualified"},
      {"resources: {limits: {a.b/c: 1500m}}", r + ".limits[a.b/c]", "must be an integer", 2},
      {"resources: {requests: {a.b/c: 1}}", r + ".requests",
       "Required value: Limit must be set for non overcommitable"},
      {"resources: {limits: {a.b/c: 2}, requests: {a.b/c: 1}}", r + ".requests", "must be equal to a.b/c limit of 2"},
      {"resources: {limits: {hugepages-2Mi: 2Mi}}", r, "Forbidden: HugePages require cpu or memory"},
      {"resources: {claims: [{name: x}]}", r + ".claims[0].name", "Not found"},
      {"resources: {claims: [{}]}", r + ".claims[0].name", "Required value"},
      {"resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]",
       "spec.containers[0].resizePolicy[0].resourceName", "Unsupported value"},
  });
  check_spec({
      {"resources: {requests: {ephemeral-storage: 1Gi}}", "spec.resources.requests[ephemeral-storage]",
       "Unsupported value"},
      {"resources: {limits: {cpu: 1}, requests: {cpu: 2}}", "spec.resources.requests", "less than or equal"},
      {"resources: {claims: [{name: a}]}", "spec.resources.claims", "Forbidden"},
      {"resourceClaims: [{name: a}]", "spec.resourceClaims[0]", "must specify one of"},
      {"resourceClaims: [{name: a, resourceClaimName: b}, {name: a, resourceClaimName: b}]",
       "spec.resourceClaims[1].name", "Duplicate value"},
      {"overhead: {cpu: -1}", "spec.overhead[cpu]", "greater than or equal to 0"},
  });
  check(
      kMetadata,
      {
          {"resources: {limits: {cpu: 1}, requests: {cpu: 1}}, containers: [{name: c, image: i, resources: {requests: "
           "{cpu: 1500m}}}]",
           "spec.resources.requests[cpu]", "aggregate container requests of 1500m"},
          {"resources: {limits: {cpu: 1}}, containers: [{name: c, image: i, resources: {limits: {cpu: 2}, requests: "
           "{cpu: 1}}}]",
           "spec.containers[0].resources.limits[cpu]", "pod limits of 1"},
      },
      "}}");
}
