// Every bound on bytes or counts that come from outside. Each constant names its source; a test walks this list
// against the tests of the parsers. Bounds stand here and nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podwright::limits {

// A gRPC message that we receive. Source: containerd's and the kubelet's own receive limit is 16 MiB; device lists and
// CRI lists of full nodes come close, so the design doubles it twice.
inline constexpr int kGrpcReceiveBytes = 64 << 20;

// Headers and trailers of a gRPC call, which carry the texts of errors. Source: ours; gRPC's default of 8 KiB turns a
// long error of a runtime (runc's output in it) into one about its length.
inline constexpr int kGrpcMetadataBytes = 64 << 10;

// Output kept of one exec probe or hook, of each stream. Source: the kubelet's probe read limit of 10 KiB.
inline constexpr std::size_t kExecOutputBytes = 10 << 10;

// Bytes taken from a stream at once. Source: ours; a TLS record's most, so that calls are few and buffers small.
inline constexpr std::size_t kStreamReadBytes = 16 << 10;

// Start line and headers of a message to an HTTP server of ours. Source: ours; the kubelet's servers take 1 MiB, but
// nothing that talks to a node needs more than a few tokens.
inline constexpr uint32_t kHttpServerHeaderBytes = 64 << 10;

// Body of a request to an HTTP server of ours. Source: the API server's bound of a request's body.
inline constexpr std::size_t kHttpServerBodyBytes = 3 << 20;

// Connections that one HTTP server of ours serves at once; more wait in the backlog. Source: ours; half of the usual
// bound of open files.
inline constexpr std::size_t kHttpServerConnections = 512;

// Start line and headers of an answer to us. Source: case K98.
inline constexpr uint32_t kHttpClientHeaderBytes = 64 << 10;

// Body kept of an answer to a probe or hook, and what is read and dropped beyond it so that an ordinary server sees no
// reset. Source: the kubelet's read limit of 10 KiB; case K98.
inline constexpr std::size_t kProbeBodyBytes = 10 << 10;
inline constexpr std::size_t kHttpDrainBytes = 64 << 10;

// Redirects followed by one HTTP probe. Source: Go's http.Client.
inline constexpr int kProbeRedirects = 10;

// Text of one probe outcome, which becomes an event. Source: the kubelet's read limit of 10 KiB; the API cuts the
// event's message at 1 KiB later.
inline constexpr std::size_t kProbeTextBytes = 10 << 10;

// Headers of an answer over HTTP/2, decoded. Source: as for HTTP/1.1.
inline constexpr std::size_t kHttp2HeaderBytes = 64 << 10;

// Frames of settings, pings, resets and priorities that a peer may send to one connection within a second before it is
// closed. Source: CVE-2019-9512, CVE-2019-9514, CVE-2019-9515; Go's limit of queued control frames is 10,000.
inline constexpr uint32_t kHttp2ControlFramesPerSecond = 1000;

// Bytes that an HTTP/2 stream or connection may send before we have read them. Source: ours; four times the protocol's
// 64 KiB, for watches of large lists.
inline constexpr int32_t kHttp2WindowBytes = 256 << 10;

// The answer of a gRPC health probe. Source: ours; a HealthCheckResponse has 2 bytes, unknown fields get some room.
inline constexpr std::size_t kGrpcHealthBytes = 4 << 10;

// A TLS record and its overhead, in and out. Source: RFC 8446, 5.2.
inline constexpr std::size_t kTlsRecordBytes = 17 << 10;

// /proc/self/mountinfo. Source: an overlay's line is up to 4 KiB of options, and 500 pods have some 4,000 mounts.
inline constexpr std::size_t kMountInfoBytes = 16 << 20;

// One file of a configMap, secret or projected volume. Source: the API's bound of a whole object is 1 MiB (etcd).
inline constexpr std::size_t kObjectVolumeFileBytes = 2 << 20;

// The node's /etc/hosts, copied into the hosts file of host-network pods, and its resolv.conf. Source: ours; lists that
// block advertisements have some 5 MB, but a pod that needs one brings it. A longer one is left out.
inline constexpr std::size_t kHostsFileBytes = 1 << 20;

// One physical line of a container's log; what is longer is cut, and said to be. Source: ours; runtimes cut lines at
// 8 to 16 KiB by default and write the rest as pieces.
inline constexpr std::size_t kLogLineBytes = 1 << 20;

// One frame of an exec or attach session on the local socket. Source: ours; both sides write at most 64 KiB at once.
inline constexpr std::size_t kStreamFrameBytes = 1 << 20;

// One answer of the agent on the local socket, as the command line reads it. Source: ours; 1,000 pods with their status
// are some 10 MB.
inline constexpr std::size_t kLocalReplyBytes = 256 << 20;

// One document of JSON or YAML. Source: the kubelet's bound of a static manifest is 10 MB.
inline constexpr std::size_t kDocumentBytes = 10 << 20;

// Nesting, nodes and documents of what is parsed. Source: CVE-2019-11253 (expansion of aliases); the deepest object of
// the API has some 20 levels.
inline constexpr int kDocumentDepth = 100;
inline constexpr std::size_t kDocumentNodes = 200'000;
inline constexpr std::size_t kDocuments = 500;

// One file of a cgroup. Source: cgroup.procs of a pod with the kernel's most of 4 million processes at 8 bytes each.
inline constexpr std::size_t kCgroupFileBytes = 32 << 20;

// Cgroups looked at below one pod's in one round. Source: a workload may make some itself; systemd in a container makes
// a few hundred. What is beyond is removed by the next round.
inline constexpr std::size_t kCgroupsBelowPod = 4'000;

// Arguments and environment of a child. Source: the kernel's ARG_MAX with the usual 8 MiB stack is 2 MiB.
inline constexpr std::size_t kCommandBytes = 2 << 20;

// One SPDY frame of a runtime's streaming server, and a header block of it, uncompressed. Source: ours; the servers
// copy in pieces of 32 KiB, and their headers are a few words. A frame may say up to 16 MiB.
inline constexpr std::size_t kSpdyFrameBytes = 1 << 20;
inline constexpr std::size_t kSpdyHeaderBytes = 64 << 10;

// The head of a streaming server's answer to an upgrade. Source: ours, as for other HTTP/1.1 heads.
inline constexpr std::size_t kStreamingAnswerBytes = 64 << 10;

// What a session's error stream brings: a Status, or the text of an error. Source: ours.
inline constexpr std::size_t kStreamVerdictBytes = 64 << 10;

// One file of the agent's configuration. Source: ours; a complete one with all comments is 40 kB.
inline constexpr std::size_t kConfigFileBytes = 1 << 20;

// How deep folders may be nested below --config-dir. Source: ours; a link to a parent must end somewhere.
inline constexpr int kConfigDirDepth = 8;

// One file of a cgroup, /proc or /sys that is read for its numbers. Source: ours; the longest are /proc/net/dev and
// io.stat of a machine with hundreds of interfaces or disks, at some 150 bytes a line.
inline constexpr std::size_t kUsageFileBytes = 1 << 20;

// Processes of one cgroup whose open files are counted, and open files looked at of all of them. Source: ours; what is
// beyond is left out of the counts, since each costs a system call.
inline constexpr std::size_t kUsageProcesses = 1'024;
inline constexpr std::size_t kUsageOpenFiles = 16'384;

// Files looked at in one piece of a walk that sums up a directory's size, and in the whole walk. Source: ours; a piece
// takes a few ms, and a volume of more files than inodes of a usual disk is summed up only in part.
inline constexpr std::size_t kDiskWalkPiece = 1'000;
inline constexpr std::size_t kDiskWalkEntries = 20'000'000;

// Log files of one container that are summed up. Source: ours; rotation keeps five.
inline constexpr std::size_t kLogFilesOfContainer = 1'000;

}  // namespace podwright::limits
