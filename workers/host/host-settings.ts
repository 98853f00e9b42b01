/** How HAProxy is run on this machine. */
export type Layer7ProxySettings =
  | {
      /** The daemon starts HAProxy itself, in its own session, in which it outlives the daemon. */
      readonly mode: 'supervised'
      readonly program: string
      readonly configFile: string
      readonly masterSocket: string
      /** Folder for pid file and log, and the working directory. */
      readonly folder: string
    }
  | {
      readonly mode: 'systemd'
      readonly masterSocket: string
      /**
       * Configuration and state file by which server state is carried to a new worker; undefined where none is carried.
       */
      readonly carried?: { readonly configFile: string; readonly stateFile: string } | undefined
    }

/** The etcd of a cluster; undefined where systemd runs it. */
export interface ClusterProgram {
  readonly program: string
  /** Folder for the log and the file of arguments. */
  readonly folder: string
}

/** The host that carries out plans. Passed to the system worker, so it is plain data. */
export interface HostSettings {
  /** `trial` changes nothing outside the state folder: such steps are only recorded. */
  readonly profile: 'trial' | 'appliance'
  readonly stateFolder: string
  readonly layer7proxy: Layer7ProxySettings
  readonly etcd?: ClusterProgram
}
