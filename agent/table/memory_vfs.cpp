#include "agent/table/memory_vfs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/status/annotate.h"

namespace podwright::table {

struct MemoryVfs::File {
  // What a write or truncation replaced, so that a power cut can take it back.
  struct Undo {
    std::size_t size = 0;  // of the file before
    std::size_t offset = 0;
    std::string old;
  };

  std::string bytes;
  std::vector<Undo> unsynced;
  int lock = SQLITE_LOCK_NONE;
  const void* locked_by = nullptr;

  void remember(std::size_t offset, std::size_t length) {
    const std::size_t have = offset < bytes.size() ? std::min(length, bytes.size() - offset) : 0;
    unsynced.push_back({bytes.size(), offset, have > 0 ? bytes.substr(offset, have) : std::string()});
  }
  void take_back(std::size_t kept) {
    while (unsynced.size() > kept) {
      const Undo& undo = unsynced.back();
      bytes.resize(undo.size);
      bytes.replace(undo.offset > undo.size ? undo.size : undo.offset, undo.old.size(), undo.old);
      unsynced.pop_back();
    }
    unsynced.clear();
  }
};

// SQLite allocates it and hands it back as sqlite3_file.
struct MemoryVfs::Handle {
  sqlite3_file base;
  MemoryVfs* vfs;
  std::shared_ptr<File> file;
  uint64_t generation;
  bool alive() const { return vfs->generation_ == generation; }
};

// SQLite's callbacks.
struct MemoryVfs::Calls {
  static Handle& of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file); }
  static MemoryVfs& of(sqlite3_vfs* vfs) { return *static_cast<MemoryVfs*>(vfs->pAppData); }

  static int close(sqlite3_file* file) {
    Handle& handle = of(file);
    if (handle.file->locked_by == file) handle.file->locked_by = nullptr;
    handle.file.~shared_ptr();
    return SQLITE_OK;
  }
  static int read(sqlite3_file* file, void* into, int amount, sqlite3_int64 offset) {
    const Handle& handle = of(file);
    if (!handle.alive()) return SQLITE_IOERR_READ;
    const std::string& bytes = handle.file->bytes;
    const auto at = static_cast<std::size_t>(offset), length = static_cast<std::size_t>(amount);
    const std::size_t have = at < bytes.size() ? std::min(length, bytes.size() - at) : 0;
    if (have > 0) std::memcpy(into, bytes.data() + at, have);
    if (have == length) return SQLITE_OK;
    std::memset(static_cast<char*>(into) + have, 0, length - have);
    return SQLITE_IOERR_SHORT_READ;
  }
  static int write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
    const Handle& handle = of(file);
    if (!handle.alive()) return SQLITE_IOERR_WRITE;
    const auto at = static_cast<std::size_t>(offset), length = static_cast<std::size_t>(amount);
    File& target = *handle.file;
    if (handle.vfs->full_) return SQLITE_FULL;
    target.remember(at, length);
    if (target.bytes.size() < at + length) target.bytes.resize(at + length);
    std::memcpy(target.bytes.data() + at, from, length);
    return SQLITE_OK;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    const Handle& handle = of(file);
    if (!handle.alive()) return SQLITE_IOERR_TRUNCATE;
    const auto length = static_cast<std::size_t>(size);
    File& target = *handle.file;
    if (length < target.bytes.size()) target.remember(length, target.bytes.size() - length);
    target.bytes.resize(length);
    return SQLITE_OK;
  }
  static int sync(sqlite3_file* file, int) {
    const Handle& handle = of(file);
    if (!handle.alive()) return SQLITE_IOERR_FSYNC;
    handle.file->unsynced.clear();
    ++handle.vfs->syncs_;
    return SQLITE_OK;
  }
  static int size(sqlite3_file* file, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>(of(file).file->bytes.size());
    return SQLITE_OK;
  }
  static int lock(sqlite3_file* file, int level) {
    File& target = *of(file).file;
    if (target.locked_by != nullptr && target.locked_by != file && level > SQLITE_LOCK_SHARED) return SQLITE_BUSY;
    if (level > SQLITE_LOCK_SHARED) target.locked_by = file;
    return SQLITE_OK;
  }
  static int unlock(sqlite3_file* file, int level) {
    File& target = *of(file).file;
    if (level <= SQLITE_LOCK_SHARED && target.locked_by == file) target.locked_by = nullptr;
    return SQLITE_OK;
  }
  static int check_lock(sqlite3_file* file, int* reserved) {
    *reserved = of(file).file->locked_by != nullptr ? 1 : 0;
    return SQLITE_OK;
  }
  static int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector(sqlite3_file*) { return 4096; }
  static int characteristics(sqlite3_file*) { return SQLITE_IOCAP_SAFE_APPEND | SQLITE_IOCAP_SEQUENTIAL; }

  static int open(sqlite3_vfs* raw, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    static constexpr sqlite3_io_methods kMethods = {
        1,      close,           read,    write,   truncate, sync,    size,    lock,   unlock, check_lock, control,
        sector, characteristics, nullptr, nullptr, nullptr,  nullptr, nullptr, nullptr};
    MemoryVfs& vfs = of(raw);
    file->pMethods = nullptr;
    std::shared_ptr<File> found;
    if (name == nullptr) {
      found = std::make_shared<File>();  // a temporary file
    } else if (const auto known = vfs.files_.find(name); known != vfs.files_.end()) {
      found = known->second;
    } else if ((flags & SQLITE_OPEN_CREATE) != 0) {
      found = vfs.files_[name] = std::make_shared<File>();
    } else {
      return SQLITE_CANTOPEN;
    }
    Handle& handle = of(file);
    new (&handle.file) std::shared_ptr<File>(std::move(found));
    handle.vfs = &vfs;
    handle.generation = vfs.generation_;
    file->pMethods = &kMethods;
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }
  static int remove(sqlite3_vfs* raw, const char* name, int) {
    // The dead agent's close must not remove the next one's files.
    return of(raw).files_.erase(name) > 0 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
  }
  static int access(sqlite3_vfs* raw, const char* name, int, int* result) {
    *result = of(raw).files_.contains(name) ? 1 : 0;
    return SQLITE_OK;
  }
  static int full_path(sqlite3_vfs*, const char* name, int length, char* out) {
    sqlite3_snprintf(length, out, "%s", name);
    return SQLITE_OK;
  }
  static int random(sqlite3_vfs* raw, int length, char* out) {
    SeededRng rng(of(raw).random_++);
    for (int i = 0; i < length; ++i) out[i] = static_cast<char>(rng.next());
    return length;
  }
  static int sleep(sqlite3_vfs*, int microseconds) { return microseconds; }
  static int time(sqlite3_vfs*, double* julian_day) {
    *julian_day = 2461041.5;  // 2026-01-01; the table asks SQLite for no time
    return SQLITE_OK;
  }
  static int last_error(sqlite3_vfs*, int, char*) { return 0; }
};

MemoryVfs::MemoryVfs() : vfs_(std::make_unique<sqlite3_vfs>()) {
  static std::atomic<uint64_t> count{0};
  name_ = fmt::format("podwright-memory-{}", ++count);
  *vfs_ = {};
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(Handle);
  vfs_->mxPathname = 512;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = Calls::open;
  vfs_->xDelete = Calls::remove;
  vfs_->xAccess = Calls::access;
  vfs_->xFullPathname = Calls::full_path;
  vfs_->xRandomness = Calls::random;
  vfs_->xSleep = Calls::sleep;
  vfs_->xCurrentTime = Calls::time;
  vfs_->xGetLastError = Calls::last_error;
  sqlite3_vfs_register(vfs_.get(), 0);
}

MemoryVfs::~MemoryVfs() {
  sqlite3_vfs_unregister(vfs_.get());
}

TableFiles MemoryVfs::files(std::string path) {
  TableFiles files;
  files.path = std::move(path);
  files.vfs = name_.c_str();
  files.exclusive = true;
  files.rename = [this](const std::string& from, const std::string& to) {
    auto moved = files_.extract(from);
    if (moved.empty()) return make_status(absl::StatusCode::kNotFound, "rename {}: ENOENT", from);
    files_[to] = std::move(moved.mapped());
    return absl::OkStatus();
  };
  return files;
}

void MemoryVfs::crash() {
  ++generation_;
  // The dead handles keep the old files; the next agent works on copies, so that nothing late can reach them.
  for (auto& [name, file] : files_) {
    auto copy = std::make_shared<File>(*file);
    copy->locked_by = nullptr;
    file = std::move(copy);
  }
}

void MemoryVfs::power_cut(std::size_t kept) {
  crash();
  for (auto& [name, file] : files_) file->take_back(kept);
}

std::string MemoryVfs::content(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? std::string() : found->second->bytes;
}

void MemoryVfs::set_content(const std::string& path, std::string bytes) {
  const auto file = std::make_shared<File>();
  file->bytes = std::move(bytes);
  files_[path] = file;
}

std::vector<std::string> MemoryVfs::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

}  // namespace podwright::table
