/** Sections of a backup, as the API names them. */
export const germanOfSections: Readonly<Record<string, string>> = {
  'Alert rules and targets': 'Alarmregeln und Ziele',
  Certificates: 'Zertifikate',
  'Fallback server': 'Ersatzserver',
  'Floating IPs': 'Schwebende IPs',
  'Global server load balancing': 'Globale Lastverteilung',
  'Health check scripts': 'Skripte für Zustandsprüfungen',
  'Layer 4 frontends and backends': 'Frontends und Backends (Schicht 4)',
  'Layer 7 frontends and backends': 'Frontends und Backends (Schicht 7)',
  'Real servers': 'Server',
  'Users, groups, roles and how they log in': 'Benutzer, Gruppen, Rollen und wie sie sich anmelden',
}

/** What the page says of backups. */
export const germanOfBackups: Readonly<Record<string, string>> = {
  ...germanOfSections,
  'A backup has {size} MiB at the most.': 'Eine Sicherung hat höchstens {size} MiB.',
  'A job checks all of it with every program.': 'Ein Auftrag prüft alles mit jedem Programm.',
  'After the apply, log in with a user and password of the backup.':
    'Nach dem Anwenden melden Sie sich mit Benutzer und Passwort aus der Sicherung an.',
  'After the apply, users, passwords and roles are those of then.':
    'Nach dem Anwenden sind Benutzer, Passwörter und Rollen die von damals.',
  'All of it': 'Alles',
  'All of it is staged, and is being checked with every program; this dialog may be closed meanwhile.':
    'Alles ist vorgemerkt und wird mit jedem Programm geprüft; dieser Dialog kann inzwischen geschlossen werden.',
  'Back up': 'Sichern',
  Backups: 'Sicherungen',
  'Delete {name}? The file is gone at once.': '{name} löschen? Die Datei ist sofort weg.',
  'Every program takes it.': 'Jedes Programm nimmt es an.',
  'Floating IPs are off until they are enabled again.': 'Schwebende IPs sind aus, bis sie wieder eingeschaltet werden.',
  'Floating IPs come enabled as they were': 'Schwebende IPs kommen so eingeschaltet, wie sie waren',
  'It is to be reached at another address than then': 'Sie soll unter einer anderen Adresse als damals erreichbar sein',
  'It waits nevertheless: put right what is wrong, or discard it.':
    'Es wartet trotzdem: Berichtigen Sie, was falsch ist, oder verwerfen Sie es.',
  'Look at what would change, then apply it, to be taken back unless it is confirmed.':
    'Sehen Sie an, was sich ändern würde, und wenden Sie es an, mit Rücknahme, falls niemand bestätigt.',
  'No backup has such a passphrase: it has printable ASCII characters.':
    'Keine Sicherung hat eine solche Passphrase: Sie hat druckbare ASCII-Zeichen.',
  'No backup is kept here yet.': 'Hier liegt noch keine Sicherung.',
  'Nothing goes live yet: what would change is shown next, and waits until it is applied.':
    'Noch wird nichts wirksam: Was sich ändern würde, wird danach gezeigt und wartet, bis es angewendet wird.',
  'Passphrase, where the backup has one': 'Passphrase, falls die Sicherung eine hat',
  Restore: 'Einspielen',
  'Restore {name}': '{name} einspielen',
  'Saved. The file holds private keys: keep it where nobody else reads it.':
    'Gesichert. Die Datei enthält private Schlüssel: Bewahren Sie sie auf, wo sie niemand sonst liest.',
  Sections: 'Bereiche',
  'Some sections': 'Einige Bereiche',
  'Stage it': 'Vormerken',
  'The check did not come to its end.': 'Die Prüfung kam nicht zu ihrem Ende.',
  'The file is empty.': 'Die Datei ist leer.',
  'This machine becomes': 'Diese Maschine wird zu',
  'This machine becomes the node of the backup: services, certificates, users, addresses and settings of then.':
    'Diese Maschine wird zum Knoten der Sicherung: Dienste, Zertifikate, Benutzer, Adressen und Einstellungen von damals.',
  'Upload a file': 'Datei hochladen',
  'What came since goes, and what waits is replaced.': 'Was seither kam, verschwindet; was wartet, wird ersetzt.',
  'What is ticked becomes what it was; what came into it since goes, and what waits in it is replaced.':
    'Was angekreuzt ist, wird wie damals; was seither dazukam, verschwindet; was darin wartet, wird ersetzt.',
  'What to restore': 'Was eingespielt wird',
  automatic: 'automatisch',
  'of {names}': 'von {names}',
  uploaded: 'hochgeladen',
}
