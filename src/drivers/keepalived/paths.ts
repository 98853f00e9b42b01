/** Where keepalived and what belongs to it are, on Debian. */
export const CONFIG_FILE = '/etc/keepalived/keepalived.conf'
/** Read by nft, before keepalived starts as well: see systemd/keepalived.service.d. */
export const MARKS_FILE = '/etc/keepalived/fulcrum-marks.nft'
/**
 * One file per weight; keepalived watches them. They are gone at a boot, when keepalived makes them anew from its
 * configuration.
 */
export const WEIGHTS_FOLDER = '/run/fulcrum-weights'
/** What keepalived.service starts it with: see systemd/keepalived.service.d. */
export const ARGUMENTS_FILE = '/etc/keepalived/fulcrum-checker.env'
/** Loaded at boot before the values are set: without the module they do not exist. */
export const MODULES_FILE = '/etc/modules-load.d/fulcrum-ipvs.conf'
export const SYSCTL_FILE = '/etc/sysctl.d/60-fulcrum-ipvs.conf'
/** Adds and removes a fallback server: keepalived calls it when the last real server goes and when one is back. */
export const FALLBACK_PROGRAM = '/etc/keepalived/fulcrum-fallback'
/** Calls it for every frontend, after a start of keepalived. */
export const SETTLE_PROGRAM = '/etc/keepalived/fulcrum-settle'
