/** Read by a keepalived of its own (fulcrum-vrrp.service), beside the one of Layer 4. */
export const CONFIG_FILE = '/etc/keepalived/fulcrum-vrrp.conf'
/** Commands of `ip` that take the addresses away where keepalived was killed: see systemd/fulcrum-vrrp.service. */
export const RELEASE_FILE = '/etc/keepalived/fulcrum-vrrp.batch'
/** Says whether the programs that serve are there; keepalived asks it each second. */
export const ALIVE_PROGRAM = '/etc/keepalived/fulcrum-alive'
/** Lets programs listen on addresses that another node has; read at boot. */
export const SYSCTL_FILE = '/etc/sysctl.d/60-fulcrum-vrrp.conf'
/** Files of one number, which keepalived watches: 0 lets this node have addresses. Gone at a boot. */
export const STATES_FOLDER = '/run/fulcrum-vrrp'
/** The track file of this node as a whole. */
export const READY = 'ready'
/** Where programs of Debian leave the number of their process. */
export const PID_FILES = { haproxy: '/run/haproxy.pid', keepalived: '/run/keepalived.pid' } as const
