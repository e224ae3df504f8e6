// The forms that names and other short texts of a pod must have. Internal to api/validation.
// Source: apimachinery pkg/util/validation, pkg/api/validation.
#pragma once

#include <string_view>

#include "api/validation_report.h"

namespace podwright::api {

// Containers, volumes, namespaces, hostnames.
Faults label_faults(std::string_view text);
// Pods and most objects. With `underscores` they may stand where a letter may (search domains).
Faults subdomain_faults(std::string_view text);
Faults search_domain_faults(std::string_view text);
// Keys of labels, kinds of conditions, resources: "name" or "domain/name".
Faults qualified_name_faults(std::string_view text);
Faults label_value_faults(std::string_view text);
Faults port_name_faults(std::string_view text);
Faults variable_faults(std::string_view text);
// A key of a Secret or a ConfigMap, which becomes a file.
Faults config_key_faults(std::string_view text);
Faults header_name_faults(std::string_view text);
Faults ip_faults(std::string_view text);
Faults sysctl_faults(std::string_view text);
// A path below some folder: relative, without "..".
Faults descending_path_faults(std::string_view text);
// The same, and it may not begin with "..", which the writer of volumes keeps for itself.
Faults file_path_faults(std::string_view text);
// No "..", absolute or not.
Faults no_backsteps_faults(std::string_view text);

bool has_backsteps(std::string_view path);

}  // namespace podwright::api
