// No account is taken over with an address that looks like the account's, whatever collation
// the database has: utf8mb4_unicode_ci is that of an official BOINC server, general_ci that of a
// MariaDB as it comes.
#include "tests/project_server/accounts/look_alikes.hpp"

#include <algorithm>
#include <set>

#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/account_manager.hpp"
#include "project_server/accounts/accounts.hpp"
#include "project_server/accounts/mail_queue.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/stored_account.hpp"
#include "project_server/accounts/throttle.hpp"
#include "project_server/email_address.hpp"
#include "tests/project_server/accounts/played_relay.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;
using namespace std::chrono_literals;

constexpr const char* kAlice = "alice@example.org";
constexpr const char* kJose = "jose@example.org";
constexpr const char* kAccented = "jos\u00E9@example.org";  // a former release took it
const std::string kBytes = "utf8mb4_nopad_bin";

/// Gives the tables of accounts another collation; their unique keys stay.
void set_collation(Database& database, const std::string& collation) {
    for (const char* const table : {"user", "token", "dedloc_mail", "team"}) {
        database.execute("alter table " + std::string{table} +
                         " convert to character set utf8mb4 collate " + collation);
    }
}

/// As a former release made it. Its password is "secret-" and the name.
void add_account(Database& database, const std::string& name, const std::string& email,
                 bool is_confirmed) {
    database.execute(
        "insert into user (name, email_addr, authenticator, passwd_hash, email_validated, "
        "create_time) values (?, ?, ?, ?, ?, 1)",
        {name, email, random_key(), slow_hash(boinc_password_hash("secret-" + name, email)),
         is_confirmed ? 1 : 0});
}

/// What no visitor may change.
std::string secrets_of_accounts(Database& database) {
    std::string text;
    for (const Row& row : database.query("select * from user order by id")) {
        text += row.text("id") + ' ' + row.text("email_addr") + ' ' + row.text("authenticator") +
                ' ' + row.text("passwd_hash") + ' ' + row.text("email_validated") + '\n';
    }
    return text;
}

std::int64_t count(Database& database, const std::string& what) {
    return database.query_one("select count(*) as n from " + what)->integer("n");
}

/// The reply of create_account.php.
std::string create(Database& database, const AccountRequest& request) {
    return create_account(database, account_at(database, request.email), request, 1).text;
}

RegistrationForm form_of(const std::string& email, const std::string& password) {
    return {.email = email, .name = "Jose", .password = password, .invitation = ""};
}

void await_empty_queue(Database& database) {
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (count(database, "dedloc_mail") > 0) {
        REQUIRE(std::chrono::steady_clock::now() < until);
        std::this_thread::sleep_for(10ms);
    }
}

bool is_one_of(const std::string& typed, const std::vector<std::string>& addresses) {
    return std::ranges::any_of(addresses,
                               [&](const std::string& address) { return names(typed, address); });
}

/// Under the site's proxy address, each client has its own limits.
httplib::Headers from_client(int number) {
    return {{"X-Forwarded-For", "192.0.2." + std::to_string(number)}};
}

}  // namespace

TEST_CASE("no look-alike of an address gets mail, and none finds an account",
          "[server][integration][property]") {
    const std::string collation =
        GENERATE("utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_nopad_bin");
    INFO(collation);
    TestProject project;
    Database& database = project.database();
    set_collation(database, collation);
    std::vector<std::string> addresses{kAlice, kAccented};
    add_account(database, "Alice", kAlice, true);
    add_account(database, "Jos\u00E9", kAccented, false);
    if (collation == kBytes) {
        addresses.emplace_back(kJose);
        add_account(database, "Jose", kJose, false);
    }
    const std::string before = secrets_of_accounts(database);
    std::vector<std::string> own;
    PlayedRelay relay;
    const auto mailer = std::make_unique<Mailer>(
        relay.settings(), project.config().database, [](MailPurpose, const std::string& secret) {
            return MailMessage{.to = "eve@example.net", .subject = "s", .text = secret + "\n"};
        });
    int asked = 0;
    for (const auto& typed : look_alikes({kAlice, kJose, kAccented}, 10'000, 40)) {
        if (is_one_of(typed, addresses)) {
            own.push_back(typed);
            continue;
        }
        mailer->request(database, MailPurpose::kReset, typed);
        // A tenth is looked up here as well, to name what is found.
        if (++asked % 10 != 0 || !account_at(database, typed)) continue;
        FAIL_CHECK("found an account: " << typed);
    }
    CHECK(asked > 8'000);
    await_empty_queue(database);
    CHECK(relay.recipients().empty());
    CHECK(count(database, "token") == 0);
    // Those in another case or with blanks around them are the account's own.
    REQUIRE(own.size() > 100);
    for (const auto& typed : own) {
        CHECK(account_at(database, typed));
        mailer->request(database, MailPurpose::kReset, typed);
        mailer->request(database, MailPurpose::kConfirm, typed);
    }
    await_empty_queue(database);
    const auto to = relay.recipients();
    CHECK(to.size() >= 2);
    std::set<std::string> deliverable{addresses.begin(), addresses.end()};
    deliverable.erase(kAccented);  // no relay needs to take it
    CHECK(std::set<std::string>{to.begin(), to.end()} == deliverable);
    for (const std::string& text : relay.texts()) {
        const auto at = text.find("\r\nTo: <");
        REQUIRE(at != text.npos);
        CHECK(deliverable.contains(text.substr(at + 7, text.find('>', at) - at - 7)));
        CHECK_THAT(text, !Contains("eve@"));
    }
    CHECK(secrets_of_accounts(database) == before);
}

TEST_CASE("look-alikes change nothing by the pages and requests of the site",
          "[server][integration]") {
    const std::string collation = GENERATE("utf8mb4_general_ci", "utf8mb4_unicode_ci");
    INFO(collation);
    PlayedRelay relay;
    TestSite site{relay.settings()};
    Database& database = site.database();
    set_collation(database, collation);
    add_account(database, "Alice", kAlice, true);
    add_account(database, "Jos\u00E9", kAccented, false);
    const std::string before = secrets_of_accounts(database);
    int client = 0;
    for (const auto& typed : look_alikes({kAlice, kJose, kAccented}, 24, 41)) {
        if (is_one_of(typed, {kAlice, kAccented})) continue;
        INFO(typed);
        ++client;
        Browser browser{site};
        const std::string page = browser.get("/account/forgotten").body;
        const auto at = page.find("name=\"form_token\" value=\"");
        REQUIRE(at != page.npos);
        const auto asked = browser.send(
            "/account/forgotten", {{"form_token", page.substr(at + 25, 64)}, {"email", typed}},
            from_client(client));
        CHECK((asked.status == 200 || asked.status == 422));
        const auto looked =
            site.client().Get("/lookup_account.php", {{"email_addr", typed}}, from_client(client));
        REQUIRE(looked);
        CHECK_THAT(looked->body, Contains("-136"));
        const auto signed_in = browser.submit("/account/sign_in", "/account/sign_in",
                                              {{"email", typed}, {"password", "secret-Alice"}});
        CHECK(signed_in.status != 303);
    }
    REQUIRE(client > 12);
    await_empty_queue(database);
    CHECK(relay.recipients().empty());
    CHECK(secrets_of_accounts(database) == before);
}

TEST_CASE("the reset that took an account over is not sent", "[server][integration]") {
    const std::string collation =
        GENERATE("utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_nopad_bin");
    PlayedRelay relay;
    TestSite site{relay.settings()};
    Database& database = site.database();
    set_collation(database, collation);
    add_account(database, "Jos\u00E9", kAccented, false);
    const std::string before = secrets_of_accounts(database);
    Browser eve{site};
    const auto ask = [&](const std::string& email) {
        return eve.submit("/account/forgotten", "/account/forgotten", {{"email", email}});
    };
    CHECK(ask(kJose).status == 200);
    const auto undeliverable = ask(kAccented);
    CHECK(undeliverable.status == 422);
    CHECK_THAT(undeliverable.body, Contains("No message can be sent to such an address"));
    await_empty_queue(database);
    CHECK(relay.recipients().empty());
    CHECK(secrets_of_accounts(database) == before);
}

TEST_CASE("the number of guesses does not grow with the spellings of an address",
          "[server][integration]") {
    const std::string collation = GENERATE("utf8mb4_general_ci", "utf8mb4_nopad_bin");
    TestSite site;
    Database& database = site.database();
    set_collation(database, collation);
    add_account(database, "Alice", kAlice, true);
    const auto ask = [&](const char* page, const std::string& email, const std::string& hash) {
        const auto reply = site.client().Get(
            page, {{"email_addr", email}, {"passwd_hash", hash}, {"user_name", "x"}},
            httplib::Headers{});
        REQUIRE(reply);
        return reply->body;
    };
    const std::string right = boinc_password_hash("secret-Alice", kAlice);
    const std::string wrong = boinc_password_hash("guess", kAlice);
    const std::vector<std::string> spellings{kAlice, "ALICE@example.org", "Alice@Example.Org ",
                                             "\talice@EXAMPLE.org"};
    CHECK_THAT(ask("/lookup_account.php", "ALICE@EXAMPLE.ORG", right), Contains("<authenticator>"));
    // None of these is the account's address, so none is a guess.
    for (const char* const other :
         {"\u00E1lice@example.org", "alice@example.org\u200B", "\uFF41lice@example.org"}) {
        for (int i = 0; i < 3; ++i) {
            CHECK_THAT(ask("/lookup_account.php", other, right), Contains("-136"));
        }
    }
    for (int i = 0; i < kSignInLimits.pair; ++i) {
        const std::string& email = spellings[static_cast<std::size_t>(i) % spellings.size()];
        const bool looks_up = i % 2 == 0;
        CHECK_THAT(ask(looks_up ? "/lookup_account.php" : "/create_account.php", email, wrong),
                   Contains(looks_up ? "-206" : "-137"));
    }
    for (const std::string& email : spellings) {
        CHECK_THAT(ask("/lookup_account.php", email, right), Contains("Too many attempts"));
        CHECK_THAT(ask("/create_account.php", email, right), Contains("Too many attempts"));
        Browser browser{site};
        CHECK(browser
                  .submit("/account/sign_in", "/account/sign_in",
                          {{"email", email}, {"password", "secret-Alice"}})
                  .status == 429);
    }
}

TEST_CASE("letters are limited by the address to which they go", "[server][integration]") {
    PlayedRelay relay;
    TestSite site{relay.settings()};
    add_account(site.database(), "Alice", kAlice, true);
    Browser browser{site};
    const auto ask = [&](const std::string& email) {
        return browser.submit("/account/forgotten", "/account/forgotten", {{"email", email}})
            .status;
    };
    const std::vector<std::string> spellings{"ALICE@example.org", " alice@example.org",
                                             "Alice@Example.org\t", kAlice, "alicE@example.org"};
    for (const auto& email : spellings) CHECK(ask(email) == 200);
    for (const auto& email : spellings) CHECK(ask(email) == 429);
    CHECK(ask("aliceb@example.org") == 200);
}

TEST_CASE("accounts whose addresses are alike are different accounts", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    set_collation(database, kBytes);
    add_account(database, "Jos\u00E9", kAccented, false);
    const auto create_jose = [&](const std::string& email, const std::string& password) {
        return create(database, {.email = email,
                                 .password_hash = boinc_password_hash(password, email),
                                 .name = "Jose"});
    };
    CHECK_THAT(create_jose(kJose, "secret-Jose"), Contains("<authenticator>"));
    CHECK(count(database, "user") == 2);
    // An address in other case is the same account, whose password gets the client its key.
    const std::string first = create_jose(kJose, "secret-Jose");
    CHECK(create_jose("JOSE@Example.ORG", "secret-Jose") == first);
    CHECK_THAT(create_jose("Jose@example.org", "another"), Contains("-137"));
    const auto again = register_user(database, form_of("JOSE@example.org", "another"), 1);
    CHECK(again.refusal.value_or("") == "There is an account with this e-mail address already.");
    CHECK(count(database, "user") == 2);
    CHECK(user_of(database, kJose, "secret-Jose") !=
          user_of(database, kAccented, "secret-Jos\u00E9"));
}

TEST_CASE("a database that takes two addresses for one says so", "[server][integration]") {
    const std::string collation = GENERATE("utf8mb4_general_ci", "utf8mb4_unicode_ci");
    TestProject project;
    Database& database = project.database();
    set_collation(database, collation);
    add_account(database, "Jos\u00E9", kAccented, true);
    add_account(database, "Bob", "bob@example.org", true);
    const std::string hash = boinc_password_hash("secret", kJose);
    const auto is_told = [](const std::string& text) {
        return text.find("cannot tell this e-mail address from") != text.npos;
    };
    CHECK(is_told(create(database, {.email = kJose, .password_hash = hash, .name = "Jose"})));
    CHECK(is_told(register_user(database, form_of(kJose, "secret"), 1).refusal.value_or("")));
    CHECK(is_told(change_email(database, 2, "secret-Bob", kJose, 1).value_or("")));
    const auto key = database.query_one("select authenticator as k from user where id = 2");
    const auto set = [&](const std::string& account_key) {
        return set_account_info(
            database, account_key,
            [&](const char* name) -> std::optional<std::string> {
                if (name == std::string{"email_addr"}) return kJose;
                if (name == std::string{"password_hash"}) return hash;
                return std::nullopt;
            },
            1);
    };
    CHECK(is_told(set(key->text("k"))));
    // The account itself may change to the look-alike, which is then not confirmed.
    const auto own = database.query_one("select authenticator as k from user where id = 1");
    CHECK_THAT(set(own->text("k")), Contains("<success/>"));
    const auto row =
        database.query_one("select email_addr, email_validated from user where id = 1");
    CHECK(row->text("email_addr") == kJose);
    CHECK(row->integer("email_validated") == 0);
}

TEST_CASE("an account of a former release keeps its address and can leave it",
          "[server][integration]") {
    const std::string old = GENERATE(
        std::string{kAccented}, std::string{"a..b@example.org"}, std::string{"ann@localhost"},
        std::string{"two@at@example.org"}, std::string{"b\u00FCcher@b\u00FCcher.example"});
    INFO(old);
    TestSite site;
    Database& database = site.database();
    add_account(database, "Old", old, false);
    CHECK(email_fault(old));
    const std::string hash = boinc_password_hash("secret-Old", old);
    const AccountRequest request{.email = old, .password_hash = hash, .name = "Old"};
    CHECK(look_up_account(account_at(database, old), request).user == 1);
    CHECK_THAT(create(database, request), Contains("<authenticator>"));
    Browser browser{site};
    CHECK(browser
              .submit("/account/sign_in", "/account/sign_in",
                      {{"email", old}, {"password", "secret-Old"}})
              .status == 303);
    // The browser asks for the new password alone, and an account manager likewise.
    CHECK_FALSE(change_password(database, 1, "secret-Old", "longer-secret"));
    const auto key = database.query_one("select authenticator as k from user")->text("k");
    const std::string other = boinc_password_hash("third-secret", old);
    CHECK_THAT(set_account_info(
                   database, key,
                   [&](const char* name) -> std::optional<std::string> {
                       if (name == std::string{"email_addr"}) return old;
                       if (name == std::string{"password_hash"}) return other;
                       return std::nullopt;
                   },
                   1),
               Contains("<success/>"));
    CHECK_FALSE(change_email(database, 1, "third-secret", old, 1));
    CHECK_FALSE(change_email(database, 1, "third-secret", "new@example.org", 1));
    CHECK(user_of(database, "NEW@example.org", "third-secret") == 1);
    CHECK(change_email(database, 1, "third-secret", old, 1));
}

}  // namespace dedloc::server
