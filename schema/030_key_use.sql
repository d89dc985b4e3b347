-- When keys were used last, as far as services with --keys have noted it: for `holdfast key list`.

-- A row for each key that was used since this version. A service writes it at most once a minute for each key.
CREATE TABLE IF NOT EXISTS api_key_use (
  key_id  INT UNSIGNED NOT NULL,
  used_at DATETIME(3) NOT NULL, -- the last request with the key, and less than a minute before it
  PRIMARY KEY (key_id)
) ENGINE=InnoDB;
