/** Configuration of a separate keepalived (fulcrum-vrrp.service), beside the one of Layer 4. */
export const CONFIG_FILE = '/etc/keepalived/fulcrum-vrrp.conf'
/** Commands of `ip` that remove the addresses if keepalived was killed: see systemd/fulcrum-vrrp.service. */
export const RELEASE_FILE = '/etc/keepalived/fulcrum-vrrp.batch'
/** Tests whether the serving programs run; keepalived calls it each second. */
export const ALIVE_PROGRAM = '/etc/keepalived/fulcrum-alive'
/** Lets programs listen on addresses of other nodes; read at boot. */
export const SYSCTL_FILE = '/etc/sysctl.d/60-fulcrum-vrrp.conf'
/** Files of one number, watched by keepalived: 0 lets this node hold addresses. A boot removes them. */
export const STATES_FOLDER = '/run/fulcrum-vrrp'
/** Name of the track file for this node as a whole. */
export const READY = 'ready'
/** Pid files of Debian's programs. */
export const PID_FILES = { haproxy: '/run/haproxy.pid', keepalived: '/run/keepalived.pid' } as const
