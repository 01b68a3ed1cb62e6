"""Publication: segments to files, files to manifests, manifests to git and DVC; and the way back: checkout, verify, bind."""
