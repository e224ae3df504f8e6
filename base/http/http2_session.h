// The inside of Http2Connection: nghttp2's session, its streams and the two flows that move bytes. Inside base/http
// only.
#pragma once

#include <nghttp2/nghttp2.h>

#include <map>
#include <memory>
#include <string>

#include "base/http/http2.h"

namespace podwright {

// What is known of one stream; shared by the session and its Http2Stream.
struct Http2State {
  explicit Http2State(Loop& loop) : changed(loop) {}

  int32_t id = 0;
  std::string upload;
  std::size_t uploaded = 0;
  int status = 0;
  Headers headers;
  Headers trailers;
  std::size_t header_bytes = 0;
  bool headed = false;
  std::string body;     // came, not yet read
  bool closed = false;  // nothing more comes
  absl::Status error;   // why, where that is no good end
  Bell changed;
};

struct Http2Connection::Session : std::enable_shared_from_this<Http2Connection::Session> {
  Session(Loop& loop, std::unique_ptr<Stream> stream);
  ~Session();

  // The flows. Each ends with the connection.
  Co<void> read_all();
  Co<void> write_all();

  absl::StatusOr<std::shared_ptr<Http2State>> open(Http2Request request);
  // The reader took so much.
  void consume(int32_t stream_id, std::size_t bytes);
  // Cancels what is not over.
  void drop(const std::shared_ptr<Http2State>& stream);
  // The end of the connection and of all its streams. Later calls change nothing.
  void fail(const absl::Status& why);
  std::string take_outgoing();

  Loop& loop;
  std::unique_ptr<Stream> stream;
  nghttp2_session* session = nullptr;
  std::map<int32_t, std::shared_ptr<Http2State>> streams;
  absl::Status state;
  std::string words;  // nghttp2's last complaint
  Bell to_send;
  Notice pinged;
  uint64_t pongs = 0;
  Instant second_began;
  uint32_t control_frames = 0;  // within that second

 private:
  void set_up();
  bool take_control_frame();
  std::shared_ptr<Http2State> find(int32_t id) const;
  void headers_done(Http2State& stream);

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t flags, void* self);
  static int on_data(nghttp2_session*, uint8_t flags, int32_t id, const uint8_t* data, size_t size, void* self);
  static int on_close(nghttp2_session*, int32_t id, uint32_t error, void* self);
  static int on_error(nghttp2_session*, int code, const char* words, size_t size, void* self);
  static ssize_t read_upload(nghttp2_session*, int32_t id, uint8_t* into, size_t room, uint32_t* flags,
                             nghttp2_data_source* source, void* self);
};

}  // namespace podwright
