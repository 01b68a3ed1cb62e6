"""The files of a published set: canonical values, fixed row groups, equal bytes from equal rows; and the check of a folder."""
