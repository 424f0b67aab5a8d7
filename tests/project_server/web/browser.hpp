// A browser that keeps cookies and sends the forms of pages, with their tokens.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {

/// Names and values.
using Fields = std::map<std::string, std::string>;

/// A browser with its cookies.
class Browser {
  public:
    explicit Browser(const TestSite& site) : site_(site) {}

    httplib::Response get(const std::string& path) {
        return remember(site_.client().Get(path.c_str(), headers()));
    }
    /// Loads the page with the form, and sends it with the page's token.
    httplib::Response submit(const std::string& page, const std::string& action, Fields fields) {
        const std::string html = get(page).body;
        const std::string mark = "name=\"form_token\" value=\"";
        const auto at = html.find(mark);
        if (at != html.npos) fields.emplace("form_token", html.substr(at + mark.size(), 64));
        return send(action, fields);
    }
    httplib::Response send(const std::string& action, const Fields& fields,
                           httplib::Headers more = {}) {
        httplib::Params params{fields.begin(), fields.end()};
        for (const auto& header : headers()) more.insert(header);
        return remember(site_.client().Post(action.c_str(), more, params));
    }
    /// Sets a cookie as an attacker could.
    void plant(const std::string& name, const std::string& value) { cookies_[name] = value; }
    std::string cookie(const std::string& name) const {
        const auto found = cookies_.find(name);
        return found == cookies_.end() ? "" : found->second;
    }
    std::string last_cookie_header;

  private:
    httplib::Headers headers() const {
        std::string text;
        for (const auto& [name, value] : cookies_) text += fmt::format("{}={}; ", name, value);
        return text.empty() ? httplib::Headers{} : httplib::Headers{{"Cookie", text}};
    }
    httplib::Response remember(const httplib::Result& result) {
        REQUIRE(result);
        const auto [first, last] = result->headers.equal_range("Set-Cookie");
        for (auto header = first; header != last; ++header) {
            last_cookie_header = header->second;
            const auto equals = header->second.find('=');
            cookies_[header->second.substr(0, equals)] =
                header->second.substr(equals + 1, header->second.find(';') - equals - 1);
        }
        return *result;
    }

    const TestSite& site_;
    Fields cookies_;
};

/// Creates an account by the form: NAME@example.org with the password secret-NAME.
inline httplib::Response register_as(Browser& browser, const std::string& name) {
    return browser.submit(
        "/account/create", "/account/create",
        {{"email", name + "@example.org"}, {"name", name}, {"password", "secret-" + name}});
}

/// Signs in by the form, as NAME@example.org.
inline httplib::Response sign_in_as(Browser& browser, const std::string& name,
                                    const std::string& password) {
    return browser.submit("/account/sign_in", "/account/sign_in",
                          {{"email", name + "@example.org"}, {"password", password}});
}

}  // namespace dedloc::server
