// Beast's own code for HTTP, compiled once (BOOST_BEAST_SEPARATE_COMPILATION). Its WebSocket part is not used. The
// macro has the parsers of both directions instantiated here.
#define BOOST_BEAST_SOURCE

#include <boost/beast/core/detail/config.hpp>
#include <boost/beast/core/detail/impl/temporary_buffer.ipp>
#include <boost/beast/core/impl/error.ipp>
#include <boost/beast/core/impl/string.ipp>
#include <boost/beast/http/detail/basic_parser.ipp>
#include <boost/beast/http/detail/rfc7230.ipp>
#include <boost/beast/http/impl/basic_parser.ipp>
#include <boost/beast/http/impl/error.ipp>
#include <boost/beast/http/impl/field.ipp>
#include <boost/beast/http/impl/rfc7230.ipp>
#include <boost/beast/http/impl/status.ipp>
#include <boost/beast/http/impl/verb.ipp>
