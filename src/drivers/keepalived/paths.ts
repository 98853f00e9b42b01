/** Files of keepalived on Debian. */
export const CONFIG_FILE = '/etc/keepalived/keepalived.conf'
/** Read by nft, also before keepalived starts: see systemd/keepalived.service.d. */
export const MARKS_FILE = '/etc/keepalived/fulcrum-marks.nft'
/**
 * One file per weight, watched by keepalived. A boot removes them; keepalived recreates them from its configuration.
 */
export const WEIGHTS_FOLDER = '/run/fulcrum-weights'
/** Arguments of keepalived.service: see systemd/keepalived.service.d. */
export const ARGUMENTS_FILE = '/etc/keepalived/fulcrum-checker.env'
/** Loads the module at boot before the values are set: they do not exist without it. */
export const MODULES_FILE = '/etc/modules-load.d/fulcrum-ipvs.conf'
export const SYSCTL_FILE = '/etc/sysctl.d/60-fulcrum-ipvs.conf'
/** Adds and removes a fallback server: keepalived calls it when the last real server goes down and when one is back. */
export const FALLBACK_PROGRAM = '/etc/keepalived/fulcrum-fallback'
/** Calls that program for every frontend, after a start of keepalived. */
export const SETTLE_PROGRAM = '/etc/keepalived/fulcrum-settle'
