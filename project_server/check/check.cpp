#include "project_server/check/check.hpp"

#include <memory>
#include <optional>

#include "peer/base/error.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::check {
namespace {

/// A connection that can change nothing; nothing if the database does not answer.
std::unique_ptr<server::Database> connect(const Subject& subject, Findings& findings) {
    findings.begin("database");
    if (!subject.database_failure.empty()) {
        findings.bad(subject.database_failure,
                     "without the database its rows were not checked; see log/mariadbd.log and "
                     "db/mariadb.log");
        return nullptr;
    }
    try {
        auto database = std::make_unique<server::Database>(subject.config.database);
        database->execute("set session transaction read only");
        findings.good("the database answers");
        return database;
    } catch (const server::DatabaseError& error) {
        findings.bad(error.what(), "see log/mariadbd.log; without it its rows were not checked");
        return nullptr;
    }
}

class Checker {
  public:
    Checker(Findings& findings, const std::function<void(const std::string&)>& begins)
        : findings_(findings), begins_(begins) {}

    /// Does one check; an error is a finding.
    template <class Check>
    void run(const std::string& name, const Check& check) {
        if (begins_) begins_(name);
        findings_.begin(name);
        try {
            check();
        } catch (const std::exception& error) {
            findings_.bad(error.what(), "this check could not be completed");
        }
    }

  private:
    Findings& findings_;
    const std::function<void(const std::string&)>& begins_;
};

}  // namespace

Findings check_project(const Subject& subject,
                       const std::function<void(const std::string&)>& begins) {
    Findings findings;
    Checker checker{findings, begins};
    checker.run("secrets", [&] { check_secrets(subject, findings); });
    checker.run("keys", [&] { check_keys(subject, findings); });
    checker.run("certificate", [&] { check_certificate(subject, findings); });
    checker.run("disk", [&] { check_disk(subject, findings); });
    checker.run("daemons", [&] { check_daemons(subject, findings); });
    checker.run("address", [&] { check_public_address(subject, findings); });
    const auto database = connect(subject, findings);
    if (database) {
        checker.run("schema", [&] { check_schema(subject, findings); });
        checker.run("tables", [&] { check_tables(subject, *database, findings); });
        checker.run("rows", [&] { check_rows(subject, *database, findings); });
        checker.run("seats", [&] { check_seats(subject, *database, findings); });
        checker.run("credit", [&] { check_credit(subject, *database, findings); });
        checker.run("downloads", [&] { check_downloads(subject, *database, findings); });
        checker.run("uploads", [&] { check_uploads(subject, *database, findings); });
    }
    checker.run("runs", [&] { check_runs(subject, database.get(), findings); });
    checker.run("ledgers", [&] { check_ledgers(subject, database.get(), findings); });
    checker.run("checkpoints", [&] { check_checkpoints(subject, findings); });
    checker.run("leftovers", [&] { check_leftovers(subject, findings); });
    return findings;
}

}  // namespace dedloc::check
