/** Sections of a backup, as the API names them. */
export const germanOfSections: Readonly<Record<string, string>> = {
  'Alert rules and targets': 'Alarmregeln und Ziele',
  Certificates: 'Zertifikate',
  'Fallback server': 'Ersatzserver',
  'Floating IPs': 'Floating-IPs',
  'Global server load balancing': 'Globale Lastverteilung',
  'Health check scripts': 'Skripte für Zustandsprüfungen',
  'Layer 4 frontends and backends': 'Frontends und Backends (Schicht 4)',
  'Layer 7 frontends and backends': 'Frontends und Backends (Schicht 7)',
  'Real servers': 'Server',
  'Users, groups, roles and login methods': 'Benutzer, Gruppen, Rollen und Anmeldearten',
}

/** Texts about backups. */
export const germanOfBackups: Readonly<Record<string, string>> = {
  ...germanOfSections,
  'A backup can have at most {size} MiB.': 'Eine Sicherung hat höchstens {size} MiB.',
  'A job validates everything with every program.': 'Ein Auftrag prüft alles mit jedem Programm.',
  'After the apply, log in with a user and password from the backup.':
    'Nach dem Anwenden melden Sie sich mit Benutzer und Passwort aus der Sicherung an.',
  'After the apply, users, passwords and roles are those of the backup.':
    'Nach dem Anwenden gelten Benutzer, Passwörter und Rollen der Sicherung.',
  Everything: 'Alles',
  'Everything is staged and is being validated with every program. You can close this dialog.':
    'Alles ist vorgemerkt und wird mit jedem Programm geprüft. Sie können diesen Dialog schließen.',
  'Back up': 'Sichern',
  Backups: 'Sicherungen',
  'Delete {name}? The file is deleted immediately.': '{name} löschen? Die Datei wird sofort gelöscht.',
  'Every program accepts it.': 'Jedes Programm nimmt es an.',
  'Floating IPs stay disabled until you enable them.': 'Floating-IPs bleiben aus, bis Sie sie einschalten.',
  'Enable the floating IPs that were enabled': 'Floating-IPs einschalten, die eingeschaltet waren',
  'Use a different address than in the backup': 'Eine andere Adresse als in der Sicherung verwenden',
  'It is pending nevertheless: correct the errors, or discard it.':
    'Es ist trotzdem vorgemerkt: Beheben Sie die Fehler, oder verwerfen Sie es.',
  'Review the changes, then apply them with a confirmation time.':
    'Prüfen Sie die Änderungen und wenden Sie sie mit einer Frist zum Bestätigen an.',
  'The passphrase of a backup consists of printable ASCII characters.':
    'Die Passphrase einer Sicherung besteht aus druckbaren ASCII-Zeichen.',
  'No backups yet.': 'Noch keine Sicherung.',
  'Nothing goes live yet: you see the changes next, and they stay pending until you apply them.':
    'Noch wird nichts wirksam: Als Nächstes sehen Sie die Änderungen; sie warten, bis Sie sie anwenden.',
  'Passphrase, if the backup has one': 'Passphrase, falls die Sicherung eine hat',
  Restore: 'Einspielen',
  'Restore {name}': '{name} einspielen',
  'Saved. The file contains private keys: keep it where nobody else can read it.':
    'Gesichert. Die Datei enthält private Schlüssel: Bewahren Sie sie so auf, dass niemand sonst sie lesen kann.',
  Sections: 'Bereiche',
  'Some sections': 'Einige Bereiche',
  Stage: 'Vormerken',
  'The validation did not finish.': 'Die Prüfung wurde nicht abgeschlossen.',
  'The file is empty.': 'Die Datei ist leer.',
  'Node in the backup': 'Knoten der Sicherung',
  'This machine becomes that node of the backup, with its services, certificates, users, addresses and settings.':
    'Diese Maschine wird zu diesem Knoten der Sicherung, mit dessen Diensten, Zertifikaten, Benutzern, Adressen und Einstellungen.',
  'Upload a file': 'Datei hochladen',
  'Everything added since is removed, and pending changes are replaced.':
    'Was seither dazukam, wird entfernt; wartende Änderungen werden ersetzt.',
  'The selected sections are restored: what was added to them since is removed, and their pending changes are replaced.':
    'Die gewählten Bereiche werden wiederhergestellt: Was seither dazukam, wird entfernt, und wartende Änderungen darin werden ersetzt.',
  'What to restore': 'Was eingespielt wird',
  automatic: 'automatisch',
  'of {names}': 'von {names}',
  uploaded: 'hochgeladen',
}
