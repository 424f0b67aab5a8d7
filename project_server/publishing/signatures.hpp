// The source of the signatures of an app version's files: a private key on this machine, or a
// folder of signatures that were made where the key is.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "project_server/publishing/keys.hpp"

namespace dedloc::server {

/// Source of the signatures of files. Thread: one at a time.
class Signatures {
  public:
    /// Signatures by the other half of the public key `open`: from `folder`, which has NAME.sig for
    /// each file, or, if that is empty, made by the private key in the file `secret`. Errors:
    /// InputError (no private key, or another key's).
    Signatures(std::string_view open, const std::filesystem::path& secret,
               std::filesystem::path folder);

    /// The signature of the file `name` with this MD5. Errors: InputError (the folder has none, or
    /// not one of this file by the key), IoError.
    std::string of(const std::string& md5, const std::string& name) const;

  private:
    const std::filesystem::path folder_;
    const VerifyingKey open_;
    std::unique_ptr<SigningKey> secret_;  ///< null: the folder has the signatures
};

}  // namespace dedloc::server
