// Rows of the tables of test vectors in tests/api/data, which came from runs of the reference code.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace podwright {

inline std::vector<std::vector<std::string>> vector_rows(const std::string& file) {
  const char* root = std::getenv("PODWRIGHT_SOURCE_DIR");
  std::ifstream in((root == nullptr ? std::string(".") : std::string(root)) + "/tests/api/data/" + file);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(in, line);  // the names of the columns
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::stringstream rest(line);
    std::string cell;
    while (std::getline(rest, cell, '\t')) cells.push_back(cell);
    cells.resize(8);
    rows.push_back(std::move(cells));
  }
  return rows;
}

// "\n" in a cell stands for a line break.
inline std::string with_breaks(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) text.replace(at, 2, "\n");
  return text;
}

}  // namespace podwright
