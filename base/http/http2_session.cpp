#include "base/http/http2_session.h"

#include <charconv>

#include "base/limits.h"
#include "base/status/annotate.h"

namespace podwright {

namespace {

// The peer takes what is written within this time, or is gone.
constexpr Duration kWriteTime = 30s;
// Written at once; more frames wait in nghttp2, where a cancelled stream's can still be dropped.
constexpr std::size_t kWriteBytes = 64 << 10;

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

nghttp2_nv field(const std::string& name, const std::string& value) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));  // nghttp2 copies, and does not write
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

bool is_of_connection(std::string_view name) {
  return name == "connection" || name == "keep-alive" || name == "proxy-connection" || name == "transfer-encoding" ||
         name == "upgrade" || name == "host";
}

// The fields of a request in the order of the wire.
absl::StatusOr<std::vector<Headers::Field>> fields_of(const Http2Request& request) {
  std::vector<Headers::Field> fields = {{":method", request.method},
                                        {":scheme", request.scheme},
                                        {":authority", request.authority},
                                        {":path", request.path}};
  for (const auto& [name, value] : request.headers.fields()) {
    std::string lower = lower_case(name);
    if (is_of_connection(lower)) continue;
    const auto* raw = reinterpret_cast<const uint8_t*>(lower.data());
    if (lower.starts_with(':') || nghttp2_check_header_name(raw, lower.size()) == 0) {
      return absl::InvalidArgumentError(fmt::format("{} is no name of a header", name));
    }
    fields.emplace_back(std::move(lower), value);
  }
  for (const auto& [name, value] : fields) {
    if (nghttp2_check_header_value(reinterpret_cast<const uint8_t*>(value.data()), value.size()) == 0) {
      return absl::InvalidArgumentError(fmt::format("the value of {} has a control character in it", name));
    }
  }
  return fields;
}

}  // namespace

Http2Connection::Session::Session(Loop& loop_used, std::unique_ptr<Stream> below)
    : loop(loop_used), stream(std::move(below)), to_send(loop_used), pinged(loop_used), second_began(loop_used.now()) {
  set_up();
}

Http2Connection::Session::~Session() {
  nghttp2_session_del(session);
}

void Http2Connection::Session::set_up() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) std::abort();  // no memory
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
  nghttp2_option_set_no_auto_window_update(option, 1);
  if (nghttp2_session_client_new2(&session, callbacks, this, option) != 0) std::abort();
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<uint32_t>(limits::kHttp2WindowBytes)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits::kHttp2HeaderBytes)},
  };
  if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings)) != 0) std::abort();
  if (nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, limits::kHttp2WindowBytes) != 0) {
    std::abort();
  }
}

std::shared_ptr<Http2State> Http2Connection::Session::find(int32_t id) const {
  const auto found = streams.find(id);
  return found == streams.end() ? nullptr : found->second;
}

Co<void> Http2Connection::Session::read_all() {
  const auto self = shared_from_this();
  while (state.ok()) {
    auto bytes = co_await stream->read_some(limits::kStreamReadBytes, Instant::max());
    if (!bytes.ok()) {
      fail(bytes.status());
      break;
    }
    if (bytes->empty()) {
      fail(absl::UnavailableError(words.empty() ? "EOF" : "HTTP/2: " + words));
      break;
    }
    const auto* raw = reinterpret_cast<const uint8_t*>(bytes->data());
    const ssize_t used = nghttp2_session_mem_recv(session, raw, bytes->size());
    if (used < 0) {
      const bool ours = used == NGHTTP2_ERR_CALLBACK_FAILURE && !words.empty();
      fail(absl::UnavailableError("HTTP/2: " + (ours ? words : std::string(nghttp2_strerror(static_cast<int>(used))))));
    }
    to_send.ring();
  }
}

std::string Http2Connection::Session::take_outgoing() {
  std::string bytes;
  while (bytes.size() < kWriteBytes) {
    const uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session, &data);
    if (size < 0) fail(absl::UnavailableError(fmt::format("HTTP/2: {}", nghttp2_strerror(static_cast<int>(size)))));
    if (size <= 0) break;
    bytes.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
  return bytes;
}

Co<void> Http2Connection::Session::write_all() {
  const auto self = shared_from_this();
  while (state.ok()) {
    std::string bytes = take_outgoing();
    if (!bytes.empty()) {
      const absl::Status sent = co_await stream->write_all(std::move(bytes), after(loop.now(), kWriteTime));
      if (!sent.ok()) fail(sent);
      continue;
    }
    if (nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0) {
      fail(absl::UnavailableError(words.empty() ? "HTTP/2: the connection ended" : "HTTP/2: " + words));
      break;
    }
    if (co_await to_send.wait_until(Instant::max()) == Wait::kCancelled) break;
  }
}

void Http2Connection::Session::fail(const absl::Status& why) {
  if (!state.ok()) return;
  state = why;
  for (const auto& [id, one] : streams) {
    if (!one->closed) one->error = why;
    one->closed = true;
    one->changed.ring();
  }
  // They stay in the map: nghttp2 may still read an upload.
  to_send.ring();
  pinged.notify();
}

absl::StatusOr<std::shared_ptr<Http2State>> Http2Connection::Session::open(Http2Request request) {
  if (!state.ok()) return annotate(state, "HTTP/2 connection");
  const auto fields = fields_of(request);
  if (!fields.ok()) return fields.status();
  std::vector<nghttp2_nv> raw;
  for (const auto& [name, value] : *fields) raw.push_back(field(name, value));
  const auto opened = std::make_shared<Http2State>(loop);
  opened->upload = std::move(request.body);
  nghttp2_data_provider provider{};
  provider.source.ptr = opened.get();
  provider.read_callback = read_upload;
  opened->id = nghttp2_submit_request(session, nullptr, raw.data(), raw.size(),
                                      opened->upload.empty() ? nullptr : &provider, nullptr);
  if (opened->id < 0) return absl::UnavailableError(fmt::format("HTTP/2: {}", nghttp2_strerror(opened->id)));
  streams[opened->id] = opened;
  to_send.ring();
  return opened;
}

void Http2Connection::Session::consume(int32_t stream_id, std::size_t bytes) {
  if (!state.ok() || !find(stream_id)) return;
  if (nghttp2_session_consume_stream(session, stream_id, bytes) != 0) return;  // the stream is over
  to_send.ring();
}

void Http2Connection::Session::drop(const std::shared_ptr<Http2State>& dropped) {
  if (!state.ok() || streams.count(dropped->id) == 0) return;
  // The state stays in the map until nghttp2 has closed the stream, since it may still read the upload.
  dropped->body.clear();
  if (nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, dropped->id, NGHTTP2_CANCEL) == 0) to_send.ring();
}

// False once the peer sends more of them than any use needs.
bool Http2Connection::Session::take_control_frame() {
  if (loop.now() - second_began >= 1s) {
    second_began = loop.now();
    control_frames = 0;
  }
  return ++control_frames <= limits::kHttp2ControlFramesPerSecond;
}

void Http2Connection::Session::headers_done(Http2State& done) {
  if (done.headed) return;
  if (done.status >= 100 && done.status < 200) return;
  done.headed = true;
  done.changed.ring();
}

int Http2Connection::Session::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* raw) {
  auto* self = static_cast<Session*>(raw);
  const auto of = self->find(frame->hd.stream_id);
  bool control = true;
  switch (frame->hd.type) {
    case NGHTTP2_DATA: control = frame->hd.length == 0 && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0; break;
    case NGHTTP2_HEADERS:
      control = false;
      if (of) self->headers_done(*of);
      break;
    case NGHTTP2_WINDOW_UPDATE: control = false; break;
    case NGHTTP2_PING:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
        ++self->pongs;
        self->pinged.notify();
      }
      break;
    default: break;
  }
  if (control && !self->take_control_frame()) {
    self->words = "too many control frames";
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  if (of && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
      (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS)) {
    of->closed = true;
    of->changed.ring();
  }
  return 0;
}

int Http2Connection::Session::on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* raw) {
  const auto of = static_cast<Session*>(raw)->find(frame->hd.stream_id);
  if (of && !of->headed) {
    of->headers = Headers();
    of->status = 0;
  }
  return 0;
}

int Http2Connection::Session::on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                                        size_t name_size, const uint8_t* value, size_t value_size, uint8_t, void* raw) {
  const auto of = static_cast<Session*>(raw)->find(frame->hd.stream_id);
  if (!of) return 0;
  of->header_bytes += name_size + value_size;
  if (of->header_bytes > limits::kHttp2HeaderBytes) {
    of->error = absl::ResourceExhaustedError("HTTP/2: the headers of the answer are too large");
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  std::string key(reinterpret_cast<const char*>(name), name_size);
  std::string text(reinterpret_cast<const char*>(value), value_size);
  if (key == ":status") {
    // nghttp2 has checked that it is a number of three digits.
    std::from_chars(text.data(), text.data() + text.size(), of->status);
    return 0;
  }
  (of->headed ? of->trailers : of->headers).add(std::move(key), std::move(text));
  return 0;
}

int Http2Connection::Session::on_data(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* data, size_t size,
                                      void* raw) {
  // The connection's window opens at once, so that a slow reader of one stream holds up no other.
  nghttp2_session_consume_connection(session, size);
  const auto of = static_cast<Session*>(raw)->find(id);
  if (!of) return 0;
  of->body.append(reinterpret_cast<const char*>(data), size);
  of->changed.ring();
  return 0;
}

int Http2Connection::Session::on_close(nghttp2_session*, int32_t id, uint32_t error, void* raw) {
  auto* self = static_cast<Session*>(raw);
  const auto of = self->find(id);
  if (!of) return 0;
  if (of->error.ok() && error != NGHTTP2_NO_ERROR && !of->closed) {
    of->error = absl::UnavailableError(fmt::format("HTTP/2: stream reset: {}", nghttp2_http2_strerror(error)));
  }
  of->closed = true;
  of->changed.ring();
  self->streams.erase(id);
  return 0;
}

int Http2Connection::Session::on_error(nghttp2_session*, int, const char* words, size_t size, void* raw) {
  static_cast<Session*>(raw)->words.assign(words, size);
  return 0;
}

ssize_t Http2Connection::Session::read_upload(nghttp2_session*, int32_t, uint8_t* into, size_t room, uint32_t* flags,
                                              nghttp2_data_source* source, void*) {
  auto* of = static_cast<Http2State*>(source->ptr);
  const std::size_t size = std::min(room, of->upload.size() - of->uploaded);
  of->upload.copy(reinterpret_cast<char*>(into), size, of->uploaded);
  of->uploaded += size;
  if (of->uploaded == of->upload.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(size);
}

}  // namespace podwright
