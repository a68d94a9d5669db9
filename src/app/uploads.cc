#include "app/uploads.h"

#include "os/beneath.h"
#include "os/file.h"

namespace chela::app {

Task<Result<>> WorkspaceUploads::save(Scope scope, std::string path, std::string bytes) {
  return pool_.run(
      [root = workspaces_.folder_of(scope), path = std::move(path), bytes = std::move(bytes)]() -> Result<> {
        if (Result<> made = os::make_private_dir(root); !made) return made;
        return os::write_beneath(root, path, bytes);
      });
}

}  // namespace chela::app
