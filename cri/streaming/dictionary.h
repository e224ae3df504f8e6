// The zlib dictionary of SPDY/3 header blocks: words, each behind its length in 32 bits, then a text. It is part of the
// protocol, byte for byte (1,423 bytes, Adler-32 0xe3c6a7c2).
// Source: draft-mbelshe-httpbis-spdy-00, 2.6.10.1.
#pragma once

#include <string>

namespace podwright::cri {

const std::string& spdy_dictionary();

}  // namespace podwright::cri
