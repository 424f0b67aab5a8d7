// A descriptor of the system, which closes itself.
#pragma once

namespace dedloc::platform {

/// Owns an open file, a socket or an end of a pipe, or nothing.
class Descriptor final {
  public:
    /// Nothing.
    Descriptor() = default;
    /// Takes the result of a system call; nothing if that is negative.
    explicit Descriptor(int id) : id_(id) {}
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    /// Closes it; errno stays.
    ~Descriptor();

    /// Whether it owns one.
    explicit operator bool() const { return id_ >= 0; }
    /// Number of the descriptor for system calls; negative: nothing.
    int id() const { return id_; }
    /// Gives it to the caller, who closes it.
    int release();
    /// Closes it now. Returns 0, or the errno of a failed close; errno itself stays.
    int close();

  private:
    int id_ = -1;
};

/// Both ends of a pipe.
struct Pipe {
    Descriptor reader;  ///< what is written to `writer` comes out here
    Descriptor writer;  ///< end of file for `reader` once all copies are closed
};
/// A new pipe that children do not inherit. Errors: IoError.
Pipe make_pipe();

}  // namespace dedloc::platform
