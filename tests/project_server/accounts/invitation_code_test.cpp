// The form of invitation codes.
#include "project_server/accounts/invitation_code.hpp"

#include <catch2/catch.hpp>

namespace dedloc::server {
namespace {

TEST_CASE("an invitation code is read as people type it", "[server]") {
    const std::array<std::byte, 10> random{
        std::byte{0x00}, std::byte{0x44}, std::byte{0x32}, std::byte{0x14}, std::byte{0xc7},
        std::byte{0x42}, std::byte{0x54}, std::byte{0xb6}, std::byte{0x35}, std::byte{0xff}};
    const std::string symbols = invitation_symbols(random);
    CHECK(symbols == "0123456789ABCDFZ");
    const std::string code = write_invitation_code(symbols);
    CHECK(code == "0123-4567-89AB-CDFZ");
    for (const char* const typed : {"0123456789ABCDFZ", "0123-4567-89ab-cdfz",
                                    " O l23 4567\t89AB-CDFZ\r\n", "oI23456789abcdfz"}) {
        CAPTURE(typed);
        CHECK(read_invitation_code(typed) == symbols);
    }
}

TEST_CASE("what is no invitation code is refused", "[server]") {
    for (const std::string& typed :
         {std::string{}, std::string{"----"}, std::string{"0123456789ABCDF"},
          std::string{"0123456789ABCDFZ0"}, std::string{"0123456789ABCDFU"},
          std::string{"0123456789ABCDF'"}, std::string{"0123456789ABCDF\xc3\x96"},
          std::string(15, '0') + '\0', std::string(1'000'000, '-'),
          std::string(65, ' ') + "0123456789ABCDFZ"}) {
        CAPTURE(typed.size());
        CHECK_FALSE(read_invitation_code(typed).has_value());
    }
}

}  // namespace
}  // namespace dedloc::server
