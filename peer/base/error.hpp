// Errors of the environment (disk, network card, GPU, database). The wrapper of the system call
// throws them; main, a thread's entry function or a C callback catches them. The message is one
// sentence that says what was attempted and why it failed.
#pragma once

#include <stdexcept>
#include <string>

namespace dedloc {

/// Base of all errors of this project.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
};

/// A file or device could not be read or written.
class IoError : public Error {
  public:
    using Error::Error;
};

/// An argument, a file or a configuration from outside cannot be used as it is.
class InputError : public Error {
  public:
    using Error::Error;
};

}  // namespace dedloc
