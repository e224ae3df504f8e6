#include "agent/kube/resource.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdlib>
#include <vector>

#include "k8s/authentication/v1.pb.h"
#include "k8s/certificates/v1.pb.h"
#include "k8s/node/v1.pb.h"
#include "k8s/storage/v1.pb.h"

namespace podwright::kube {
namespace {

namespace coordination = k8s::io::api::coordination::v1;
namespace certificates = k8s::io::api::certificates::v1;
namespace node = k8s::io::api::node::v1;
namespace storage = k8s::io::api::storage::v1;

constexpr bool kNamespaced = true;
constexpr bool kOfCluster = false;

template <class T, class List>
Resource make(std::string group, std::string version, std::string plural, std::string kind, bool namespaced) {
  return {std::move(group), std::move(version),     std::move(plural),        std::move(kind),
          namespaced,       &T::default_instance(), &List::default_instance()};
}

const Message& sub_message(const Message& object, const char* name) {
  const auto* field = object.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) std::abort();  // not an object of the API: a bug of the caller
  return object.GetReflection()->GetMessage(object, field);
}

}  // namespace

// One line a kind; `all` below names them again.
#define PODWRIGHT_RESOURCE(TYPE, ...)                                \
  template <>                                                        \
  const Resource& resource_of<TYPE>() {                              \
    static const Resource one = make<TYPE, TYPE##List>(__VA_ARGS__); \
    return one;                                                      \
  }
PODWRIGHT_RESOURCE(core::Pod, "", "v1", "pods", "Pod", kNamespaced)
PODWRIGHT_RESOURCE(core::Node, "", "v1", "nodes", "Node", kOfCluster)
PODWRIGHT_RESOURCE(core::ConfigMap, "", "v1", "configmaps", "ConfigMap", kNamespaced)
PODWRIGHT_RESOURCE(core::Secret, "", "v1", "secrets", "Secret", kNamespaced)
PODWRIGHT_RESOURCE(core::Service, "", "v1", "services", "Service", kNamespaced)
PODWRIGHT_RESOURCE(core::Event, "", "v1", "events", "Event", kNamespaced)
PODWRIGHT_RESOURCE(core::Namespace, "", "v1", "namespaces", "Namespace", kOfCluster)
PODWRIGHT_RESOURCE(core::ServiceAccount, "", "v1", "serviceaccounts", "ServiceAccount", kNamespaced)
PODWRIGHT_RESOURCE(core::PersistentVolume, "", "v1", "persistentvolumes", "PersistentVolume", kOfCluster)
PODWRIGHT_RESOURCE(core::PersistentVolumeClaim, "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                   kNamespaced)
PODWRIGHT_RESOURCE(coordination::Lease, "coordination.k8s.io", "v1", "leases", "Lease", kNamespaced)
PODWRIGHT_RESOURCE(node::RuntimeClass, "node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", kOfCluster)
PODWRIGHT_RESOURCE(storage::CSIDriver, "storage.k8s.io", "v1", "csidrivers", "CSIDriver", kOfCluster)
PODWRIGHT_RESOURCE(storage::CSINode, "storage.k8s.io", "v1", "csinodes", "CSINode", kOfCluster)
PODWRIGHT_RESOURCE(storage::VolumeAttachment, "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment",
                   kOfCluster)
PODWRIGHT_RESOURCE(certificates::CertificateSigningRequest, "certificates.k8s.io", "v1", "certificatesigningrequests",
                   "CertificateSigningRequest", kOfCluster)
#undef PODWRIGHT_RESOURCE

const Resource* find_resource(std::string_view group, std::string_view version, std::string_view plural) {
  static const std::vector<const Resource*> all = {
      &resource_of<core::Pod>(),
      &resource_of<core::Node>(),
      &resource_of<core::ConfigMap>(),
      &resource_of<core::Secret>(),
      &resource_of<core::Service>(),
      &resource_of<core::Event>(),
      &resource_of<core::Namespace>(),
      &resource_of<core::ServiceAccount>(),
      &resource_of<core::PersistentVolume>(),
      &resource_of<core::PersistentVolumeClaim>(),
      &resource_of<coordination::Lease>(),
      &resource_of<node::RuntimeClass>(),
      &resource_of<storage::CSIDriver>(),
      &resource_of<storage::CSINode>(),
      &resource_of<storage::VolumeAttachment>(),
      &resource_of<certificates::CertificateSigningRequest>(),
  };
  for (const Resource* one : all) {
    if (one->group == group && one->version == version && one->plural == plural) return one;
  }
  return nullptr;
}

const meta::ObjectMeta& metadata_of(const Message& object) {
  return static_cast<const meta::ObjectMeta&>(sub_message(object, "metadata"));
}

meta::ObjectMeta* mutable_metadata_of(Message* object) {
  const auto* field = object->GetDescriptor()->FindFieldByName("metadata");
  if (field == nullptr) std::abort();
  return static_cast<meta::ObjectMeta*>(object->GetReflection()->MutableMessage(object, field));
}

const meta::ListMeta& list_metadata_of(const Message& list) {
  return static_cast<const meta::ListMeta&>(sub_message(list, "metadata"));
}

ObjectKey key_of(const Message& object) {
  const meta::ObjectMeta& metadata = metadata_of(object);
  return {metadata.namespace_(), metadata.name()};
}

std::string canonical_bytes(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace podwright::kube
