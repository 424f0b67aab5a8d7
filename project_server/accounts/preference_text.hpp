// What BOINC's two kinds of preferences have in common: <global_preferences> and
// <project_preferences> are elements with a value each, then <venue name="…"> elements with the
// same for computers of that venue. Clients, account managers and web pages write them, and the
// scheduler sends them to clients as they are, so they are written anew whenever they change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/scheduler/preferences.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {

/// Bytes of preferences that are stored; the columns are blobs of 65,535.
inline constexpr std::size_t kMaxPreferences = 60'000;

/// Whether it is one of kVenues (scheduler/preferences.hpp), or empty: no venue.
bool is_venue(std::string_view venue);

/// The elements of preferences; the views point into the text that was split.
struct PreferenceText {
    std::vector<XmlElement> general;  ///< without <venue> elements
    /// Those of the venues in kVenues; of several of one name the first, as clients read them.
    std::map<std::string, std::vector<XmlElement>> venues;
};

/// Splits the first element `root` of a text; empty if there is none.
PreferenceText split_preferences(std::string_view text, std::string_view root);

/// The element anew, on lines of its own: without attributes, its text escaped, the elements in it
/// the same up to three levels deep. Empty for an element whose name BOINC's have not the form of,
/// for one with markup in it that is no element, and for a <venue>: within the preferences of a
/// venue its closing tag would end them.
std::string rewritten(const XmlElement& element);

/// An account manager's preferences: the elements in `root` that have no elements in them, and the
/// <project_specific> of the account's `stored` ones, which managers do not know. Nothing if `text`
/// is too long or has no such root.
std::optional<std::string> managed_preferences(std::string_view text, std::string_view root,
                                               std::string_view stored);

}  // namespace dedloc::server
