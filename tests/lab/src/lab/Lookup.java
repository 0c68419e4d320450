package lab;

import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;

/** Asks an outside system for each record, over one connection of each subtask, and has no patience with it. */
final class Lookup implements java.io.Serializable {
    private final String address;
    private transient Socket connection;

    /** Host and port, or nothing where nobody is asked. */
    Lookup(String address) {
        this.address = address;
    }

    void start() throws IOException {
        if (!address.isEmpty()) {
            String[] place = address.split(":");
            connection = new Socket(place[0], Integer.parseInt(place[1]));
        }
    }

    void ask(long key) throws IOException {
        if (connection == null) {
            return;
        }
        connection.getOutputStream().write((byte) key);
        if (connection.getInputStream().read() < 0) {
            throw new EOFException("lab: the database closed the connection");
        }
    }

    void stop() throws IOException {
        if (connection != null) {
            connection.close();
        }
    }
}
