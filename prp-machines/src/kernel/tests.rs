use super::*;

#[test]
fn in_folder__says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let reason = |folder: &Path| Kernel::in_folder(folder, None).unwrap_err().to_string();
    assert!(reason(folder.path()).contains("/boot: No such file"));
    fs::create_dir(folder.path().join("boot")).unwrap();
    assert!(reason(folder.path()).contains("0 files vmlinuz-*"));
    fs::write(folder.path().join("boot/vmlinuz-6.1"), "").unwrap();
    assert!(reason(folder.path()).contains("no lib/modules/6.1"));
    let modules = folder.path().join("lib/modules/6.1");
    fs::create_dir_all(&modules).unwrap();
    fs::write(modules.join("modules.dep.bin"), "").unwrap();
    let kernel = Kernel::in_folder(folder.path(), Some("old")).unwrap();
    assert_eq!((kernel.label.as_str(), kernel.release.as_str()), ("old", "6.1"));
}
