// Forms and cookies as strangers send them.
#include "project_server/http/form.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace dedloc::server {

TEST_CASE("forms and cookies of strangers are bounded and decoded", "[server]") {
    const auto form = Form::parse("a=1&b=%C3%A9+x&c&b=2&d=%0D%0A");
    REQUIRE(form);
    CHECK(form->value("a") == "1");
    CHECK(form->value("b") == "é x");
    CHECK(form->value("c").empty());
    CHECK(form->value("d") == "\n");
    CHECK(form->value("none").empty());
    // boinccmd sends words of a command line in the code page of Windows.
    CHECK(Form::parse("a=%CE%EB%FC%E3%E0&b=M%FCller")->value("a") == "Ольга");
    CHECK(Form::parse("a=caf%E9%01")->value("a") == "café?");
    CHECK(Form::parse(""));
    for (const char* const bad : {"a=%", "a=%1", "a=%zz", "%=1"}) CHECK_FALSE(Form::parse(bad));
    CHECK_FALSE(Form::parse(std::string(kMaxFormBytes + 1, 'a')));
    std::string many;
    for (std::size_t i = 0; i <= kMaxFormFields; ++i) many += "a=1&";
    CHECK_FALSE(Form::parse(many));
    CHECK(cookie_value("x=1; name=va=lue; y=2", "name") == "va=lue");
    CHECK(cookie_value("xname=1", "name").empty());
    CHECK(cookie_value(";;=;", "name").empty());
}

}  // namespace dedloc::server
