-- The database of `tune`, NAME_tune beside the live one NAME. A database that tune made has a comment that says so; in
-- one that an administrator made, table tune_scratch says that its tables are tune's. The statements run on a
-- connection to the live database.

-- name: tune_lock
-- Locks tune: one at a time beside a database. The lock ends with the connection. One row: 1 or 0.
SELECT GET_LOCK(CONCAT('holdfast_tune_', MD5(DATABASE())), 0);

-- name: tune_make
-- One row: 0 where tables stand that tune did not make.
BEGIN NOT ATOMIC
  DECLARE name VARCHAR(200) COLLATE utf8mb3_bin DEFAULT CONCAT(DATABASE(), '_tune');
  DECLARE quoted VARCHAR(400) DEFAULT CONCAT('`', REPLACE(name, '`', '``'), '`');
  DECLARE others INT;
  IF NOT EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = name) THEN
    EXECUTE IMMEDIATE CONCAT('CREATE DATABASE ', quoted, ' COMMENT ''made by holdfast tune''');
  END IF;
  SELECT COUNT(*) INTO others FROM information_schema.tables WHERE table_schema = name;
  IF others = 0 THEN
    EXECUTE IMMEDIATE CONCAT('CREATE TABLE ', quoted, '.tune_scratch (one TINYINT NOT NULL)');
  END IF;
  SELECT others = 0;
END

-- name: tune_drop
-- The database where tune made it, otherwise its tables, tune_scratch last: a removal that is cut off is taken up
-- again.
BEGIN NOT ATOMIC
  DECLARE name VARCHAR(200) COLLATE utf8mb3_bin DEFAULT CONCAT(DATABASE(), '_tune');
  DECLARE quoted VARCHAR(400) DEFAULT CONCAT('`', REPLACE(name, '`', '``'), '`');
  DECLARE tables TEXT;
  IF EXISTS (SELECT 1 FROM information_schema.schemata
              WHERE schema_name = name AND schema_comment = 'made by holdfast tune') THEN
    EXECUTE IMMEDIATE CONCAT('DROP DATABASE ', quoted);
  ELSEIF EXISTS (SELECT 1 FROM information_schema.tables
                  WHERE table_schema = name AND table_name = 'tune_scratch') THEN
    SELECT GROUP_CONCAT(quoted, '.`', table_name, '`' ORDER BY table_name = 'tune_scratch') INTO tables
      FROM information_schema.tables WHERE table_schema = name;
    EXECUTE IMMEDIATE CONCAT('DROP TABLE ', tables);
  END IF;
END

-- name: tune_grants
-- The two lines by which an administrator makes the database for this account.
SELECT CONCAT('CREATE DATABASE ', quoted, ';'),
       CONCAT('GRANT ALL ON ', quoted, '.* TO ', QUOTE(user), '@', QUOTE(host), ';')
  FROM (SELECT CONCAT('`', REPLACE(DATABASE(), '`', '``'), '_tune`') AS quoted,
               LEFT(account, CHAR_LENGTH(account) - CHAR_LENGTH(host) - 1) AS user, host
          FROM (SELECT CURRENT_USER() AS account, SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS host) account) names;

-- name: tune_waits
-- Figures of the whole server, since it was started.
SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_%';
