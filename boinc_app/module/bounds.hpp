// Bounds on what a module of a researcher may use while its operators run, and the way to stop it.
//
// libtorch itself bounds nothing and cannot be interrupted. Three places of it are used here:
//   - the dispatcher: a fallback at a key above all others sees each call of an operator, of the
//     forward and of the backward pass, before it runs, and may throw;
//   - the allocator of the processor's memory: one that counts stands before libtorch's own;
//   - the interpreter: script_module.cpp adds a call of check_bounds() to the body of each loop, as
//     a loop need not call an operator.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "boinc_app/training/computation.hpp"

namespace dedloc::training::module {

/// The most that one pass, or loading a module, may use.
struct Bounds {
    /// Bytes of tensors that all modules of the process hold at the same time, besides parameters
    /// and inputs: for a pass, and so many more for each of its samples.
    std::uint64_t bytes = std::uint64_t{4} << 30;
    std::uint64_t sample_bytes = 0;  ///< see `bytes`
    /// Calls of operators and rounds of loops.
    std::uint64_t operators = 1'000'000;
};

/// Why a pass ended early.
enum class Ending : std::uint8_t {
    kNone,         ///< it did not
    kInterrupted,  ///< the caller wants its thread back
    kTooLarge,     ///< it wants more memory than the bound, or reads a tensor of more elements
    kTooLong,      ///< it runs more operators than the bound
};

/// Thrown into libtorch, which may replace it by an error of its own: ask BoundedPass::ending().
class PassEnded final : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// While it lives, operators that the calling thread calls are bounded. Not nested (aborts).
///
/// Cost   a boxed call of each operator: module_test "the time of a pass's operators" prints it
/// Limits an operator is not interrupted itself; memory that an operator takes from malloc is not
///        counted
class BoundedPass {
  public:
    /// Both must outlive it.
    BoundedPass(const Bounds& bounds, const IsInterrupted& is_interrupted);
    ~BoundedPass();
    BoundedPass(const BoundedPass&) = delete;
    BoundedPass& operator=(const BoundedPass&) = delete;

    /// Counts one operator. Errors: PassEnded, also when an earlier check has failed.
    void check();
    /// Whether a tensor of so many elements may be read, or so many bytes be taken.
    /// Errors: PassEnded.
    void check_elements(std::int64_t elements);
    void check_bytes(std::uint64_t bytes);

    /// From now on floating-point operations are counted (operation_count.hpp).
    void count_operations() { counts_ = true; }
    bool counts_operations() const { return counts_; }
    void add_operations(double count) { operations_ += count; }

    /// Floating-point operations since count_operations(), and the most bytes that the pass held at
    /// the same time.
    double operations() const { return operations_; }
    std::uint64_t peak_bytes() const { return peak_bytes_; }
    /// Why the pass ended early, and a sentence that says so.
    Ending ending() const { return ending_; }
    const std::string& sentence() const { return sentence_; }

    /// That of the calling thread; null: none.
    static BoundedPass* current();

  private:
    [[noreturn]] void end(Ending ending, std::string sentence);

    const Bounds& bounds_;
    const IsInterrupted& is_interrupted_;
    const std::uint64_t bytes_before_;
    std::uint64_t operators_ = 0;
    std::uint64_t peak_bytes_ = 0;
    double operations_ = 0;
    bool counts_ = false;
    Ending ending_ = Ending::kNone;
    std::string sentence_;
};

/// Counts one round of a loop for the calling thread's pass, if there is one. Errors: PassEnded.
void check_bounds();

/// Puts the counting allocator and the fallback in their places in libtorch, once in a process.
void install_bounds();

}  // namespace dedloc::training::module
