// Certificates for tests, made on the spot.
#pragma once

#include <string>

namespace podwright {

struct TestCertificate {
  std::string certificate_pem, key_pem;
};

// Signed by itself, valid for the given name or address.
TestCertificate make_certificate(const std::string& name, bool is_address);

}  // namespace podwright
