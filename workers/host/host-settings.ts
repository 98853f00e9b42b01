/** How HAProxy is run on this machine. */
export type Layer7ProxySettings =
  | {
      /** The daemon starts HAProxy itself, in a session of its own that outlives the daemon. */
      readonly mode: 'supervised'
      readonly program: string
      readonly configFile: string
      readonly masterSocket: string
      /** Working directory, pid file and log. */
      readonly folder: string
    }
  | {
      readonly mode: 'systemd'
      readonly masterSocket: string
      /** What a new worker is told of servers goes through here; undefined where nothing is. */
      readonly carried?: { readonly configFile: string; readonly stateFile: string } | undefined
    }

/** The etcd of a cluster; undefined where systemd runs it. */
export interface ClusterProgram {
  readonly program: string
  /** Log, and the file of its arguments. */
  readonly folder: string
}

/** Where plans are carried out. Travels to the system worker, so it is plain data. */
export interface HostSettings {
  /** `trial` changes nothing outside the state folder: such steps are only recorded. */
  readonly profile: 'trial' | 'appliance'
  readonly stateFolder: string
  readonly layer7proxy: Layer7ProxySettings
  readonly etcd?: ClusterProgram
}
