#include "tests/base/http/http2_peer.h"

#include <nghttp2/nghttp2.h>

#include <map>

namespace podwright {

namespace {

struct PeerStream {
  PeerRequest request;
  PeerAnswer answer;
  std::size_t sent = 0;
};

struct Peer {
  PeerScript script;
  int* cancelled = nullptr;
  std::map<int32_t, PeerStream> streams;
};

std::vector<nghttp2_nv> fields_of(const Headers& headers) {
  std::vector<nghttp2_nv> fields;
  for (const auto& [name, value] : headers.fields()) {
    fields.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                      reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
  }
  return fields;
}

ssize_t read_answer(nghttp2_session* session, int32_t id, uint8_t* into, size_t room, uint32_t* flags,
                    nghttp2_data_source*, void* raw) {
  PeerStream& stream = static_cast<Peer*>(raw)->streams[id];
  const std::size_t size = std::min(room, stream.answer.body.size() - stream.sent);
  stream.answer.body.copy(reinterpret_cast<char*>(into), size, stream.sent);
  stream.sent += size;
  if (stream.sent == stream.answer.body.size()) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!stream.answer.trailers.fields().empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const auto fields = fields_of(stream.answer.trailers);
      nghttp2_submit_trailer(session, id, fields.data(), fields.size());
    }
  }
  return static_cast<ssize_t>(size);
}

int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size, const uint8_t* value,
              size_t value_size, uint8_t, void* raw) {
  static_cast<Peer*>(raw)->streams[frame->hd.stream_id].request.headers.add(
      std::string(reinterpret_cast<const char*>(name), name_size),
      std::string(reinterpret_cast<const char*>(value), value_size));
  return 0;
}

int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* raw) {
  static_cast<Peer*>(raw)->streams[id].request.body.append(reinterpret_cast<const char*>(data), size);
  return 0;
}

int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* raw) {
  auto* peer = static_cast<Peer*>(raw);
  if (frame->hd.type == NGHTTP2_RST_STREAM) ++*peer->cancelled;
  const bool message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (!message || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  const int32_t id = frame->hd.stream_id;
  PeerStream& stream = peer->streams[id];
  stream.answer = peer->script(stream.request);
  if (stream.answer.never) return 0;
  if (stream.answer.reset != 0) {
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, stream.answer.reset);
  }
  const auto fields = fields_of(stream.answer.headers);
  nghttp2_data_provider provider{};
  provider.read_callback = read_answer;
  const bool only_headers = stream.answer.body.empty() && stream.answer.trailers.fields().empty();
  return nghttp2_submit_response(session, id, fields.data(), fields.size(), only_headers ? nullptr : &provider);
}

}  // namespace

Co<void> serve_http2(std::unique_ptr<Stream> stream, PeerScript script, int* cancelled) {
  Peer peer{std::move(script), cancelled, {}};
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session* raw = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
  nghttp2_session_server_new2(&raw, callbacks, &peer, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const std::unique_ptr<nghttp2_session, void (*)(nghttp2_session*)> session(raw, nghttp2_session_del);
  nghttp2_submit_settings(raw, NGHTTP2_FLAG_NONE, nullptr, 0);
  while (true) {
    std::string out;
    const uint8_t* data = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(raw, &data)) > 0;) {
      out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    if (!out.empty() && !(co_await stream->write_all(std::move(out), Instant::max())).ok()) co_return;
    auto in = co_await stream->read_some(16 << 10, Instant::max());
    if (!in.ok() || in->empty()) co_return;
    if (nghttp2_session_mem_recv(raw, reinterpret_cast<const uint8_t*>(in->data()), in->size()) < 0) co_return;
  }
}

}  // namespace podwright
