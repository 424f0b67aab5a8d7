// What answers at the address where volunteers' peers ask for tickets. A web server that does not
// forward it to the gateway answers, too, and no job can begin then.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "project_server/settings.hpp"

namespace dedloc::check {

/// What has answered.
enum class PublicAnswer : std::uint8_t {
    kGateway,  ///< the project's gateway
    kNothing,  ///< nothing, or the gateway says "not now": from another network it may be different
    kOther,    ///< something else: volunteers get no tickets
};

/// The answer, in words.
struct PublicAddress {
    PublicAnswer answer{};  ///< who has answered
    std::string sentence;   ///< for the administrator
    std::string advice;     ///< empty: nothing to do
};

/// Asks the project's URL once, at most for `timeout`. Errors: InputError (no http or https URL).
PublicAddress ask_public_address(const std::filesystem::path& project,
                                 const server::Settings& settings,
                                 std::chrono::seconds timeout = std::chrono::seconds{5});

}  // namespace dedloc::check
