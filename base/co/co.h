// Co<T>: a coroutine of the agent. Every coroutine runs on one Loop, and one Loop thread owns all state.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace podwright {

template <class T = void>
using Co = boost::asio::awaitable<T, boost::asio::any_io_executor>;

}  // namespace podwright
