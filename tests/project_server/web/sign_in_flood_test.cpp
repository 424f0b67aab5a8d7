// Sign-ins while others flood the server with requests that hash passwords.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "project_server/accounts/passwords.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {

TEST_CASE("a flood of sign-ins from a few networks leaves turns to other networks",
          "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    std::atomic<bool> is_over = false;
    std::atomic<int> tries = 0;
    std::vector<std::thread> flood;
    for (int i = 0; i < 48; ++i) {
        flood.emplace_back([&, i] {
            while (!is_over) {
                // Requests that are not limited as failed sign-ins are.
                const std::string n = std::to_string(tries++);
                const std::string address =
                    "10." + std::to_string(i % 4) + '.' + std::to_string(std::stoi(n) % 250);
                site.client().Get(("/create_account.php?email_addr=eve" + n +
                                   "@example.org&user_name=Eve&passwd_hash=" + std::string(32, 'a'))
                                      .c_str(),
                                  {{"X-Forwarded-For", address + ".1"}});
            }
        });
    }
    while (tries < 100) std::this_thread::sleep_for(std::chrono::milliseconds{10});
    int refused = 0;
    for (int i = 0; i < 10; ++i) {
        auto client = site.client();
        client.set_read_timeout(std::chrono::seconds{10});
        const auto reply =
            client.Get(("/lookup_account.php?email_addr=ada@example.org&passwd_hash=" +
                        boinc_password_hash("secret-Ada", "ada@example.org"))
                           .c_str(),
                       {{"X-Forwarded-For", "198.51.100." + std::to_string(i)}});
        refused += !reply || reply->body.find("<authenticator>") == std::string::npos;
    }
    is_over = true;
    for (std::thread& one : flood) one.join();
    CHECK(refused == 0);
}

}  // namespace dedloc::server
