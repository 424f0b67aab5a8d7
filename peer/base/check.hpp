// Checks for bugs: conditions that no input from outside can make false. They are on in every
// build: a wrong gradient is worse than a crash, and BOINC reports the crash with the text that is
// printed here.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace dedloc {

/// Prints the failed condition with its source line and message to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

namespace internal {
/// "<sentence> [value] [value] …"
template <class... Values>
std::string describe(std::string_view sentence, const Values&... values) {
    std::string text{sentence};
    ((text += fmt::format(" [{}]", values)), ...);
    return text;
}
}  // namespace internal

}  // namespace dedloc

/// DEDLOC_CHECK(condition, "sentence", values...): aborts with sentence and values when `condition`
/// is false. The sentence says what must hold.
#define DEDLOC_CHECK(condition, ...)                                           \
    do {                                                                       \
        if (!(condition)) [[unlikely]] {                                       \
            ::dedloc::check_failed(__FILE__, __LINE__, #condition,             \
                                   ::dedloc::internal::describe(__VA_ARGS__)); \
        }                                                                      \
    } while (false)
