// Checks for bugs: conditions that no input from outside can make false. Always on: a wrong
// gradient is worse than a crash, and BOINC reports the crash with what we print here.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace dedloc {

/// Prints the failed condition with its place and message to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

namespace internal {
template <class... Values>
std::string describe(std::string_view sentence, const Values&... values) {
    std::string text{sentence};
    ((text += fmt::format(" [{}]", values)), ...);
    return text;
}
}  // namespace internal

}  // namespace dedloc

/// DEDLOC_CHECK(condition, "sentence", values...): aborts with the values when `condition` is
/// false.
#define DEDLOC_CHECK(condition, ...)                                           \
    do {                                                                       \
        if (!(condition)) [[unlikely]] {                                       \
            ::dedloc::check_failed(__FILE__, __LINE__, #condition,             \
                                   ::dedloc::internal::describe(__VA_ARGS__)); \
        }                                                                      \
    } while (false)
