// Errors of the environment (disk, network card, GPU, database): thrown by the wrapper that met
// them, caught in main, at a thread's entry, or in a C callback. The message says what was wanted
// and what failed, in one sentence.
#pragma once

#include <stdexcept>
#include <string>

namespace dedloc {

class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& sentence) : std::runtime_error(sentence) {}
};

/// A file or device could not be read or written.
class IoError : public Error {
  public:
    using Error::Error;
};

/// What a user gave us (argument, file, configuration) cannot be used as it is.
class InputError : public Error {
  public:
    using Error::Error;
};

}  // namespace dedloc
