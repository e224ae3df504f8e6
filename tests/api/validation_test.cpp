#include "api/validation.h"

#include "tests/api/validation_rows.h"

using namespace podwright;
using namespace podwright::api;

namespace {

constexpr const char* kEverything = R"(
metadata:
  name: a.b
  namespace: ns
  labels: {app: web, example.com/tier: "", a_b.c: D-e}
  annotations: {Example.com/Note: "anything at all"}
  finalizers: [example.com/f]
  ownerReferences: [{apiVersion: v1, kind: Node, name: node, uid: u, controller: true}]
spec:
  activeDeadlineSeconds: 60
  terminationGracePeriodSeconds: 5
  restartPolicy: OnFailure
  dnsPolicy: None
  dnsConfig:
    nameservers: [10.0.0.1, "2001:db8::1"]
    searches: [".", example.com., _srv.example.com]
    options: [{name: ndots, value: "2"}, {name: edns0}]
  hostname: h
  subdomain: s
  hostAliases: [{ip: 127.0.0.1, hostnames: [a, b.c]}]
  hostUsers: false
  nodeName: n1
  nodeSelector: {disk: ssd}
  serviceAccountName: sa
  priorityClassName: system-node-critical
  runtimeClassName: r
  schedulingGates: [{name: example.com/g}]
  readinessGates: [{conditionType: example.com/Ready}]
  os: {name: linux}
  overhead: {cpu: 10m}
  imagePullSecrets: [{name: reg}]
  tolerations: [{operator: Exists}, {key: k, value: v, effect: NoExecute, tolerationSeconds: 3}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: a, operator: In, values: [b]}, {key: c, operator: Exists}]
          matchFields: [{key: metadata.name, operator: In, values: [n1]}]
  resources: {limits: {cpu: 4, memory: 4Gi}, requests: {cpu: 4}}
  resourceClaims: [{name: gpu, resourceClaimName: g}]
  securityContext:
    runAsUser: 1000
    runAsNonRoot: true
    fsGroup: 2000
    fsGroupChangePolicy: OnRootMismatch
    supplementalGroups: [1, 2147483647]
    supplementalGroupsPolicy: Strict
    sysctls: [{name: net.ipv4.ip_forward, value: "1"}, {name: kernel/shm_rmid_forced, value: "1"}]
    seccompProfile: {type: RuntimeDefault}
  volumes:
  - {name: empty, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
  - {name: host, hostPath: {path: /var/log, type: DirectoryOrCreate}}
  - {name: secret, secret: {secretName: s, defaultMode: 0400, items: [{key: k, path: a/b, mode: 0777}]}}
  - {name: config, configMap: {name: c, optional: true}}
  - {name: claim, persistentVolumeClaim: {claimName: c}}
  - {name: csi, csi: {driver: Disk.example.com, volumeAttributes: {a: b}}}
  - {name: nfs, nfs: {server: s, path: /p}}
  - {name: image, image: {reference: "r:1"}}
  - {name: generic, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce],
      resources: {requests: {storage: 1Gi}}}}}}
  - name: down
    downwardAPI:
      items:
      - {path: labels, fieldRef: {fieldPath: metadata.labels}}
      - {path: one, fieldRef: {fieldPath: "metadata.annotations['Example.com/Note']"}}
      - {path: cpu, resourceFieldRef: {containerName: app, resource: limits.cpu, divisor: 1m}}
  - name: all
    projected:
      sources:
      - serviceAccountToken: {path: token, expirationSeconds: 600}
      - secret: {name: s, items: [{key: k, path: k}]}
      - configMap: {name: kube-root-ca.crt}
      - downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}]}
      - clusterTrustBundle: {name: b, path: b.pem}
      - podCertificate: {signerName: x/y, keyType: ED25519, credentialBundlePath: c.pem}
  initContainers:
  - {name: init, image: i, restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers,
      exitCodes: {operator: NotIn, values: [0]}}]}
  - name: sidecar
    image: i
    restartPolicy: Always
    startupProbe: {exec: {command: [a]}}
    lifecycle: {preStop: {sleep: {seconds: 5}}}
  containers:
  - name: app
    image: registry.example.com/a:1
    ports: [{name: http, containerPort: 80, hostPort: 8080}, {containerPort: 80, protocol: UDP, hostIP: 10.0.0.1}]
    env:
    - {name: "A.b-c d", value: x}
    - {name: B, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}
    - {name: C, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: D, valueFrom: {resourceFieldRef: {resource: requests.memory, divisor: 1Mi}}}
    - {name: E, valueFrom: {configMapKeyRef: {name: c, key: k.txt}}}
    - {name: F, valueFrom: {secretKeyRef: {name: c, key: _k}}}
    - {name: G, valueFrom: {fileKeyRef: {volumeName: empty, path: a/b, key: G}}}
    envFrom: [{prefix: P_, configMapRef: {name: c}}, {secretRef: {name: s}}]
    volumeMounts:
    - {name: empty, mountPath: /a, subPath: b/c, mountPropagation: HostToContainer}
    - {name: host, mountPath: /h, readOnly: true, recursiveReadOnly: Enabled}
    - {name: config, mountPath: /c, subPathExpr: $(POD)}
    volumeDevices: [{name: claim, devicePath: /dev/x}]
    livenessProbe: {httpGet: {port: http, path: /, httpHeaders: [{name: X-A, value: b}]}, terminationGracePeriodSeconds: 1}
    readinessProbe: {tcpSocket: {port: 80}, successThreshold: 3}
    startupProbe: {grpc: {port: 1}}
    lifecycle: {postStart: {exec: {command: [a]}}, preStop: {httpGet: {port: 80}}}
    resources: {limits: {cpu: 1, memory: 1Gi, example.com/gpu: 1, hugepages-2Mi: 4Mi}, requests: {cpu: 500m},
      claims: [{name: gpu}]}
    resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
    securityContext:
      runAsUser: 1
      procMount: Unmasked
      capabilities: {add: [NET_ADMIN], drop: [ALL]}
      allowPrivilegeEscalation: false
      seccompProfile: {type: Localhost, localhostProfile: p/a.json}
      appArmorProfile: {type: Localhost, localhostProfile: prof}
  ephemeralContainers:
  - {name: debug, image: i, targetContainerName: app, stdin: true, tty: true, volumeMounts: [{name: empty, mountPath: /a}]}
)";

}  // namespace

TEST_CASE("a pod that uses everything is well formed") {
  core::Pod pod = pod_of(kEverything);
  CHECK(join(validate_pod(pod)) == "");
}

TEST_CASE("metadata") {
  check(
      "{metadata: ",
      {
          {"{namespace: b}", "metadata.name", "Required value: name or generateName is required"},
          {"{name: A, namespace: b}", "metadata.name",
           R"(Invalid value: "A": a lowercase RFC 1123 subdomain must consist of)"},
          {"{name: a..b, namespace: b}", "metadata.name", "subdomain"},
          {"{name: " + std::string(254, 'a') + ", namespace: b}", "metadata.name", "no more than 253"},
          {"{name: a}", "metadata.namespace", "Required value"},
          {"{name: a, namespace: b.c}", "metadata.namespace", "RFC 1123 label"},
          {"{name: a, namespace: b, labels: {-a: b}}", "metadata.labels", "name part must consist of"},
          {"{name: a, namespace: b, labels: {A/b/c: b}}", "metadata.labels", "a qualified name must consist of"},
          {"{name: a, namespace: b, labels: {/c: b}}", "metadata.labels", "prefix part must be non-empty"},
          {"{name: a, namespace: b, labels: {a: b c}}", "metadata.labels", "a valid label must be an empty string or"},
          {"{name: a, namespace: b, annotations: {a b: c}}", "metadata.annotations", "name part"},
          {"{name: a, namespace: b, annotations: {a: " + std::string(256 << 10, 'x') + "}}", "metadata.annotations",
           "Too long: may not be more than 262144 bytes"},
          {"{name: a, namespace: b, finalizers: [x y]}", "metadata.finalizers[0]", "name part"},
          {"{name: a, namespace: b, ownerReferences: [{apiVersion: v1, kind: K, name: x}]}",
           "metadata.ownerReferences[0].uid", "Required value"},
      },
      ", spec: {containers: [{name: c, image: i}]}}");
}

TEST_CASE("volumes") {
  const std::string v = "spec.volumes[0]";
  check_spec({
      {"volumes: [{emptyDir: {}}]", v + ".name", "Required value"},
      {"volumes: [{name: A}]", v + ".name", "RFC 1123 label"},
      {"volumes: [{name: a}, {name: a}]", "spec.volumes[1].name", "Duplicate value"},
      {"volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: a}}]}}]",
       v + ".projected.sources[0].serviceAccountToken", "serviceAccountName is not set"},
  });
  check_volume({
      {"emptyDir: {}, hostPath: {path: /a}", v + ".emptyDir", "Forbidden: may not specify more than 1 volume type"},
      {"emptyDir: {sizeLimit: -1}", v + ".emptyDir.sizeLimit", "Forbidden"},
      {"hostPath: {}", v + ".hostPath.path", "Required value"},
      {"hostPath: {path: /a/../b}", v + ".hostPath.path", "must not contain '..'"},
      {"hostPath: {path: /a, type: Dir}", v + ".hostPath.type", R"(supported values: "", "BlockDevice")"},
      {"secret: {}", v + ".secret.secretName", "Required value"},
      {"secret: {secretName: a, defaultMode: 01000}", v + ".secret.defaultMode", "between 0 and 0777 (octal)"},
      {"secret: {secretName: a, items: [{path: b}]}", v + ".secret.items[0].key", "Required value"},
      {"secret: {secretName: a, items: [{key: b}]}", v + ".secret.items[0].path", "Required value"},
      {"secret: {secretName: a, items: [{key: b, path: /c}]}", v + ".secret.items[0].path", "must be a relative path"},
      {"secret: {secretName: a, items: [{key: b, path: ..c}]}", v + ".secret.items[0].path",
       "must not start with '..'"},
      {"configMap: {}", v + ".configMap.name", "Required value"},
      {"configMap: {name: a, items: [{key: b, path: c, mode: -1}]}", v + ".configMap.items[0].mode", "0777"},
      {"downwardAPI: {items: [{path: a}]}", v + ".downwardAPI.items[0]", "either fieldRef or resourceFieldRef"},
      {"downwardAPI: {items: [{path: a, fieldRef: {fieldPath: status.podIP}}]}",
       v + ".downwardAPI.items[0].fieldRef.fieldPath", "Unsupported value"},
      {"downwardAPI: {items: [{path: a, resourceFieldRef: {resource: limits.cpu}}]}",
       v + ".downwardAPI.items[0].resourceFieldRef.containerName", "Required value"},
      {"persistentVolumeClaim: {}", v + ".persistentVolumeClaim.claimName", "Required value"},
      {"nfs: {server: a, path: b}", v + ".nfs.path", "must be an absolute path"},
      {"csi: {}", v + ".csi.driver", "Required value"},
      {"csi: {driver: a_b}", v + ".csi.driver", "subdomain"},
      {"csi: {driver: a, nodePublishSecretRef: {}}", v + ".csi.nodePublishSecretRef.name", "Required value"},
      {"image: {}", v + ".image.reference", "Required value"},
      {"image: {reference: a, pullPolicy: X}", v + ".image.pullPolicy", "Unsupported value"},
      {"iscsi: {targetPortal: a, iqn: b}", v + ".iscsi.iqn", "starting with iqn"},
      {"iscsi: {targetPortal: a, iqn: iqn.b, lun: 256}", v + ".iscsi.lun", "between 0 and 255"},
      {"fc: {}", v + ".fc.targetWWNs", "Required value"},
      {"rbd: {image: a}", v + ".rbd.monitors", "Required value"},
      {"ephemeral: {}", v + ".ephemeral.volumeClaimTemplate", "Required value"},
      {"ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}",
       v + ".ephemeral.volumeClaimTemplate.spec.resources.requests[storage]", "Required value"},
      {"projected: {sources: [{}]}", v + ".projected.sources[0]", "Required value"},
      {"projected: {sources: [{secret: {name: a}, configMap: {name: a}}]}", v + ".projected.sources[0]", "Forbidden"},
      {"projected: {sources: [{serviceAccountToken: {}}]}", v + ".projected.sources[0].serviceAccountToken.path",
       "Required value"},
      {"projected: {sources: [{serviceAccountToken: {path: a, expirationSeconds: 599}}]}",
       v + ".projected.sources[0].serviceAccountToken.expirationSeconds", "less than 10 minutes"},
      {"projected: {sources: [{secret: {name: a, items: [{key: k, path: p}]}}, {configMap: {name: a, items: [{key: k, "
       "path: p}]}}]}",
       v + ".projected.sources[1].configMap.items[0].path", "conflicting duplicate paths"},
      {"projected: {sources: [{clusterTrustBundle: {path: a}}]}", v + ".projected.sources[0].clusterTrustBundle",
       "either name or signerName"},
      {"projected: {sources: [{podCertificate: {signerName: a/b, keyType: X, keyPath: k}}]}",
       v + ".projected.sources[0].podCertificate.keyType", "Unsupported value"},
  });
}

TEST_CASE("each kind of volume without what it needs is refused") {
  const auto* kinds = core::VolumeSource::descriptor();
  for (int i = 0; i < kinds->field_count(); ++i) {
    const std::string kind = kinds->field(i)->name();
    if (kind == "emptyDir" || kind == "projected" || kind == "downwardAPI" || kind == "flocker" ||
        kind == "storageos") {
      continue;  // need nothing
    }
    CAPTURE(kind);
    const auto errors = validate_pod(
        pod_of(std::string(kMetadata) + "containers: [{name: c, image: i}], volumes: [{name: v, " + kind + ": {}}]}}"));
    REQUIRE_FALSE(errors.empty());
    CHECK(errors[0].field.starts_with("spec.volumes[0]." + kind + "."));
    CHECK(errors[0].text.starts_with("Required value"));
  }
}

TEST_CASE("security") {
  const std::string c = "spec.containers[0].securityContext";
  check_container({
      {"securityContext: {runAsUser: -1}", c + ".runAsUser",
       "Invalid value: -1: must be between 0 and 2147483647, inclusive"},
      {"securityContext: {runAsGroup: 2147483648}", c + ".runAsGroup", "2147483647"},
      {"securityContext: {runAsNonRoot: true, runAsUser: 0}", c + ".runAsUser", "must not be 0"},
      {"securityContext: {procMount: X}", c + ".procMount", R"("Default", "Unmasked")"},
      {"securityContext: {procMount: Unmasked}", c + ".procMount", "`hostUsers` must be false"},
      {"securityContext: {privileged: true, allowPrivilegeEscalation: false}", c, "`privileged` to true"},
      {"securityContext: {allowPrivilegeEscalation: false, capabilities: {add: [CAP_SYS_ADMIN]}}", c, "CAP_SYS_ADMIN"},
      {"securityContext: {capabilities: {add: [a b]}}", c + ".capabilities.add[0]", "name of a capability"},
      {"securityContext: {seccompProfile: {}}", c + ".seccompProfile.type", "Required value"},
      {"securityContext: {seccompProfile: {type: X}}", c + ".seccompProfile.type", "Unsupported value"},
      {"securityContext: {seccompProfile: {type: Localhost}}", c + ".seccompProfile.localhostProfile",
       "Required value: must be set when seccomp type is Localhost"},
      {"securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../a}}",
       c + ".seccompProfile.localhostProfile", "must not contain '..'"},
      {"securityContext: {seccompProfile: {type: Unconfined, localhostProfile: a}}",
       c + ".seccompProfile.localhostProfile", "can only be set"},
      {"securityContext: {appArmorProfile: {type: Localhost}}", c + ".appArmorProfile.localhostProfile",
       "Required value"},
      {"securityContext: {appArmorProfile: {type: Localhost, localhostProfile: ' a'}}",
       c + ".appArmorProfile.localhostProfile", "padded"},
  });
  const std::string p = "spec.securityContext";
  check_spec({
      {"securityContext: {runAsUser: 0, runAsNonRoot: true}", c + ".runAsUser", "must not be 0"},
      {"securityContext: {fsGroup: -1}", p + ".fsGroup", "2147483647"},
      {"securityContext: {supplementalGroups: [1, -1]}", p + ".supplementalGroups[1]", "2147483647"},
      {"securityContext: {supplementalGroupsPolicy: X}", p + ".supplementalGroupsPolicy", R"("Merge", "Strict")"},
      {"securityContext: {fsGroupChangePolicy: X}", p + ".fsGroupChangePolicy", "Unsupported value"},
      {"securityContext: {sysctls: [{value: a}]}", p + ".sysctls[0].name", "Required value"},
      {"securityContext: {sysctls: [{name: a..b}]}", p + ".sysctls[0].name", "at most 253"},
      {"securityContext: {sysctls: [{name: a.b}, {name: a.b}]}", p + ".sysctls[1].name", "Duplicate value"},
      {"hostNetwork: true, securityContext: {sysctls: [{name: net.core.somaxconn}]}", p + ".sysctls[0].name",
       "'hostNetwork' is true"},
      {"hostIPC: true, securityContext: {sysctls: [{name: kernel/shmmax}]}", p + ".sysctls[0].name",
       "'hostIPC' is true"},
  });
}

TEST_CASE("the rest of a spec") {
  check_spec({
      {"restartPolicy: Sometimes", "spec.restartPolicy", R"("Always", "OnFailure", "Never")"},
      {"activeDeadlineSeconds: 0", "spec.activeDeadlineSeconds", "must be between 1 and 2147483647, inclusive"},
      {"terminationGracePeriodSeconds: -1", "spec.terminationGracePeriodSeconds", "greater than or equal to 0"},
      {"dnsPolicy: X", "spec.dnsPolicy", "Unsupported value"},
      {"dnsPolicy: None", "spec.dnsConfig", "Required value: must provide `dnsConfig`"},
      {"dnsPolicy: None, dnsConfig: {}", "spec.dnsConfig.nameservers", "Required value"},
      {"dnsConfig: {nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4]}", "spec.dnsConfig.nameservers",
       "must not have more than 3 nameservers"},
      {"dnsConfig: {nameservers: [dns]}", "spec.dnsConfig.nameservers[0]", "must be a valid IP address"},
      {"dnsConfig: {searches: [a..b]}", "spec.dnsConfig.searches[0]", "subdomain"},
      {"dnsConfig: {options: [{value: a}]}", "spec.dnsConfig.options[0]", "Required value: must not be empty"},
      {"hostname: a.b", "spec.hostname", "RFC 1123 label"},
      {"subdomain: A", "spec.subdomain", "RFC 1123 label"},
      {"hostnameOverride: a, hostNetwork: true", "spec.hostnameOverride", "Forbidden"},
      {"hostAliases: [{ip: 1.2.3, hostnames: [a]}]", "spec.hostAliases[0].ip", "valid IP"},
      {"hostAliases: [{ip: 1.2.3.4, hostnames: [a_b]}]", "spec.hostAliases[0].hostnames[0]", "subdomain"},
      {"hostUsers: false, hostNetwork: true", "spec.hostNetwork", "Forbidden: when `hostUsers` is false"},
      {"hostUsers: false, hostPID: true", "spec.hostPID", "Forbidden"},
      {"hostUsers: false, hostIPC: true", "spec.hostIPC", "Forbidden"},
      {"hostPID: true, shareProcessNamespace: true", "spec.shareProcessNamespace", "cannot both be enabled"},
      {"os: {name: plan9}", "spec.os.name", R"(supported values: "linux", "windows")"},
      {"os: {name: linux}, securityContext: {windowsOptions: {}}", "spec.securityContext.windowsOptions", "Forbidden"},
      {"readinessGates: [{conditionType: a b}]", "spec.readinessGates[0].conditionType", "name part"},
      {"schedulingGates: [{name: a}, {name: a}]", "spec.schedulingGates[1]", "Duplicate value"},
      {"nodeName: A", "spec.nodeName", "subdomain"},
      {"serviceAccountName: A", "spec.serviceAccountName", "subdomain"},
      {"runtimeClassName: A", "spec.runtimeClassName", "subdomain"},
      {"nodeSelector: {a: b c}", "spec.nodeSelector", "a valid label"},
      {"tolerations: [{effect: NoExecute}]", "spec.tolerations[0].operator", "operator must be Exists when `key`"},
      {"tolerations: [{key: a, operator: Exists, value: b}]", "spec.tolerations[0].operator", "value must be empty"},
      {"tolerations: [{key: a, effect: X}]", "spec.tolerations[0].effect", "Unsupported value"},
      {"tolerations: [{key: a, tolerationSeconds: 1}]", "spec.tolerations[0].effect", "must be 'NoExecute'"},
      {"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
       "[{matchExpressions: [{key: a, operator: In}]}]}}}",
       "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
       "matchExpressions[0].values",
       "Required value"},
  });
  check(kMetadata,
        {{"hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: 2}]}]",
          "spec.containers[0].ports[0].hostPort", "must match `containerPort` when `hostNetwork` is true"}},
        "}}");
}

TEST_CASE("all errors come at once, and read as one text") {
  const auto errors = validate_pod(pod_of("{metadata: {name: A, namespace: b}, spec: {containers: [{name: c}]}}"));
  REQUIRE(errors.size() == 2);
  CHECK(join({}) == "");
  CHECK(join({errors[1]}) == "spec.containers[0].image: Required value");
  CHECK(join(errors).starts_with("[metadata.name: Invalid value"));
  CHECK(join(errors).ends_with(", spec.containers[0].image: Required value]"));
}

TEST_CASE("an empty pod is refused, not misread") {
  CHECK(validate_pod(core::Pod()).size() >= 5);
}

TEST_CASE("a static pod refers to nothing that only the API server has") {
  const core::Pod pod = pod_of(kEverything);
  const auto fields = [&](bool allow) {
    std::vector<std::string> all;
    for (const auto& error : validate_static_pod(pod, allow)) {
      CHECK(error.text.starts_with("Forbidden: static pods may not reference "));
      all.push_back(error.field);
    }
    return all;
  };
  CHECK(fields(false) == std::vector<std::string>{
                             "spec.serviceAccountName",
                             "spec.imagePullSecrets[0]",
                             "spec.volumes[2].secret",
                             "spec.volumes[3].configMap",
                             "spec.volumes[4].persistentVolumeClaim",
                             "spec.volumes[8].ephemeral",
                             "spec.volumes[10].projected.sources[0].serviceAccountToken",
                             "spec.volumes[10].projected.sources[1].secret",
                             "spec.volumes[10].projected.sources[2].configMap",
                             "spec.volumes[10].projected.sources[4].clusterTrustBundle",
                             "spec.volumes[10].projected.sources[5].podCertificate",
                             "spec.containers[0].env[4].valueFrom.configMapKeyRef",
                             "spec.containers[0].env[5].valueFrom.secretKeyRef",
                             "spec.containers[0].envFrom[0].configMapRef",
                             "spec.containers[0].envFrom[1].secretRef",
                             "spec.resourceClaims",
                         });
  CHECK(fields(true) == std::vector<std::string>{
                            "spec.serviceAccountName",
                            "spec.volumes[4].persistentVolumeClaim",
                            "spec.volumes[8].ephemeral",
                            "spec.volumes[10].projected.sources[0].serviceAccountToken",
                            "spec.volumes[10].projected.sources[4].clusterTrustBundle",
                            "spec.volumes[10].projected.sources[5].podCertificate",
                            "spec.resourceClaims",
                        });
  const core::Pod storage = pod_of(
      "{spec: {volumes: [{name: a, csi: {driver: d, nodePublishSecretRef: {name: s}}}, {name: b, iscsi: {secretRef: "
      "{name: s}}}]}}");
  CHECK(validate_static_pod(storage, true).empty());
  REQUIRE(validate_static_pod(storage, false).size() == 2);
  CHECK(validate_static_pod(storage, false)[0].field == "spec.volumes[0].csi.nodePublishSecretRef");
  CHECK(validate_static_pod(pod_of("{spec: {containers: [{name: c, image: i}]}}"), false).empty());
}
